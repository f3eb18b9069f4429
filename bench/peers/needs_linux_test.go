package peers

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/bench/progress"
)

// What each needs, every one in a process of its own.
func TestNeeds(t *testing.T) {
	to, self := &kept{}, append(python(t, "memory"), "serve")
	const rows = 200_000
	o := Options{Python: python(t, "memory"), Peers: []string{"duckdb", "polars"}, Rows: rows, Ops: []string{"sort", "groupby_100"}, Rounds: 1, Threads: 2}
	if err := Needs(context.Background(), o, self, to, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	if len(to.records) != 7 || len(to.answers) != 1 {
		t.Fatalf("%d records, %d answers", len(to.records), len(to.answers))
	}
	for _, r := range to.records {
		if r.Way != "query" || r.OK == nil || !*r.OK || *r.PeakRSSBytes < *r.WholeBytes || *r.WholeBytes < 16*rows {
			t.Errorf("%+v", r)
		}
		if r.Op == "sort" && *r.GrowthBytes < 16*rows { // its result
			t.Errorf("%s grew by %d bytes", r.Engine, *r.GrowthBytes)
		}
	}
	lines := to.answers[0].Value.(map[string]any)["memory"].([]NeedLine)
	if len(lines) != 2 || lines[0].Second == "" || len(lines[1].Ratio) != 2 || lines[1].Ratio[oursName] <= 0 {
		t.Errorf("%+v", lines)
	}
	if g := to.answers[0].Grid; len(g.Rows) != 2 || len(g.Rows[0]) != len(g.Header) || g.Rows[0][2] != "–" {
		t.Errorf("grid %v", g)
	}
	o.Python, o.Ops, o.Peers = python(t, "lacks"), []string{"sum"}, []string{"polars"}
	to = &kept{}
	if err := Needs(context.Background(), o, self, to, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	if l := to.answers[0].Value.(map[string]any)["memory"].([]NeedLine)[0]; len(l.Missing) != 1 || l.Second != "" {
		t.Errorf("%+v", l)
	}
}

// Options that nothing can be measured by are errors before anything is started.
func TestNeedsRefused(t *testing.T) {
	good := Options{Peers: []string{"duckdb"}, Rows: 10, Rounds: 1, Ops: []string{"csv"}}
	for want, o := range map[string]func(o *Options){
		"none named":  func(o *Options) { o.Peers = nil },
		`no peer "x"`: func(o *Options) { o.Peers = []string{"x"} },
		"0 rounds":    func(o *Options) { o.Rounds = 0 },
		"0 rows":      func(o *Options) { o.Rows = 0 },
	} {
		bad := good
		o(&bad)
		if err := Needs(context.Background(), bad, nil, &kept{}, progress.Nothing()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The second of those that need least, or the only one.
func TestNeedsSecond(t *testing.T) {
	of := func(whole int64) NeedOf { return NeedOf{Need: Need{Start: 100, Input: 150, Peak: 100 + whole}} }
	l := &NeedLine{Engines: map[string]NeedOf{"volley": of(300), "duckdb": of(400), "polars": of(200), "numpy": of(250)}, Ratio: map[string]float64{}}
	if l.compare([]string{"duckdb", "polars", "pyarrow", "numpy"}); l.Second != "numpy" || l.Ratio["volley"] != 1.2 {
		t.Errorf("%+v", l)
	}
	if l.compare([]string{"duckdb"}); l.Second != "duckdb" || l.Ratio["volley"] != 0.75 {
		t.Errorf("%+v", l)
	}
	if n := of(300).Need; n.Whole() != 300 || n.Growth() != 250 {
		t.Errorf("%+v", n)
	}
}

// What is wrong with a command is its answer, and the worker goes on.
func TestServe(t *testing.T) {
	b, err := volley.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := Serve(context.Background(), b, "polars", nil, nil); err == nil {
		t.Error("polars is not ours")
	}
	var out bytes.Buffer
	in := "{\"do\":\"dance\"}\nno JSON\n{\"do\":\"measure\",\"op\":\"dance\"}\n"
	if err := Serve(context.Background(), b, "volley", strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || slices.ContainsFunc(lines[1:], func(l string) bool { return !strings.Contains(l, "\"error\"") }) {
		t.Errorf("%q", lines)
	}
}
