package peers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// A peer whose process ends is missing where it did, in place at the next operation
// and in the error at the end; the others race on.
func TestDied(t *testing.T) {
	for mode, c := range map[string]struct {
		at   string
		ends []string // operations without polars
		told []string
	}{
		"dies":   {"check", []string{"sum"}, []string{"sum, polars"}},
		"ends":   {"run", []string{"sum", "minmax"}, []string{"sum, polars; minmax, polars"}},
		"leaves": {"unload", nil, []string{"sum, polars (after its rounds); minmax, polars (after its rounds)"}},
	} {
		to, err := raced(t, context.Background(), mode, "sum", "minmax")
		var part *report.Incomplete
		if !errors.As(err, &part) || len(to.answers) != 1 {
			t.Fatalf("%s: %v", mode, err)
		}
		for _, text := range c.told {
			if !strings.HasSuffix(err.Error(), "their processes ended: "+text) {
				t.Errorf("%s: %v", mode, err)
			}
		}
		for _, l := range to.answers[0].Value.(map[string]any)["peers"].([]Line) {
			missing := slices.Contains(c.ends, l.Op)
			if _, raced := l.Peers["polars"]; raced == missing || l.Ratio <= 0 || l.Peers["duckdb"].MinS <= 0 {
				t.Errorf("%s: %+v", mode, l)
			}
			want := fmt.Sprintf("its process ended during %s (exit status 9): Segmentation fault", c.at)
			if missing && (l.Missing["polars"] != want || !strings.Contains(to.answers[0].Grid.Note, l.Op+", polars: "+want)) {
				t.Errorf("%s: %+v", mode, l)
			}
		}
	}
}

// The file to read is written by another peer where the first one's process ends.
func TestDiedWriting(t *testing.T) {
	b, err := volley.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	to := &kept{}
	o := Options{
		Backend: b, Python: python(t, "scribe"), Peers: []string{"polars", "duckdb"}, Rows: 10, Ops: []string{"csv"}, Rounds: 1, Threads: 1,
		gauge: readings{1, 1, 1},
	}
	if err := Run(context.Background(), o, to, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	if r := to.record(t, "csv", "polars"); r.OK == nil || !*r.OK {
		t.Errorf("%+v", r)
	}
}

// So it is at products.
func TestDiedMultiplying(t *testing.T) {
	b, err := volley.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	to := &kept{}
	o := GEMMOptions{Backend: b, Python: python(t, "ends"), Peers: []string{"openblas", "mkl"}, Elements: 128 * 128, Rounds: 1, Threads: 1}
	var part *report.Incomplete
	if err := GEMM(context.Background(), o, to, progress.Nothing()); !errors.As(err, &part) {
		t.Fatal(err)
	}
	for _, l := range to.answers[0].Value.(map[string]any)["peers"].([]GEMMLine) {
		if l.Best != "openblas" || !strings.Contains(l.Missing["mkl"], "ended during run (exit status 9)") {
			t.Errorf("%+v", l)
		}
	}
}

// A peer for which memory may be short is left out, and says so; where the system
// does not tell, none is.
func TestCrowded(t *testing.T) {
	s := &stage{size: 100, free: func() (int64, int64) { return 1000, 599 }}
	if s.crowded() == "" {
		t.Error("599 bytes for six times 100")
	}
	if s.mmap = true; s.crowded() != "" {
		t.Error("599 bytes for five times 100")
	}
	s.free = func() (int64, int64) { return 0, 0 }
	if s.crowded() != "" {
		t.Error("a system that does not tell")
	}
	b, err := volley.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	to := &kept{}
	o := Options{
		Backend: b, Python: python(t, "right"), Peers: []string{"duckdb"}, Rows: 1000, Ops: []string{"sum"}, Rounds: 1, Threads: 1,
		gauge: readings{1, 1, 1}, free: func() (int64, int64) { return 1 << 30, 1000 },
	}
	if err := Run(context.Background(), o, to, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	if l := to.answers[0].Value.(map[string]any)["peers"].([]Line)[0]; !strings.HasPrefix(l.Missing["duckdb"], "left out: it may need") {
		t.Errorf("%+v", l)
	}
}
