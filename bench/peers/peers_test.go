package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// kept is a sink that keeps all.
type kept struct {
	records []report.Record
	answers []report.Answer
}

func (k *kept) Record(r report.Record) error { k.records = append(k.records, r); return nil }
func (k *kept) Answer(a report.Answer) error { k.answers = append(k.answers, a); return nil }

// raced runs operations against stubs.
func raced(t *testing.T, ctx context.Context, mode string, ops ...string) (*kept, error) {
	t.Helper()
	return racedBeside(t, ctx, mode, readings{1, 1, 1}, ops...)
}

// racedBeside runs them where the machine gives what the gauge says.
func racedBeside(t *testing.T, ctx context.Context, mode string, g gauge, ops ...string) (*kept, error) {
	t.Helper()
	b, err := volley.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	to := &kept{}
	err = Run(ctx, Options{
		Backend: b, Python: python(t, mode), Peers: []string{"duckdb", "polars"}, Rows: 1000, Ops: ops, Rounds: 2, Threads: 2,
		Limit: report.Bandwidth{ReadGBs: 10, CopyGBs: 10}, gauge: g,
	}, to, progress.Nothing())
	return to, err
}

// readings are those of a machine that gives the same all the time.
type readings report.Reading

func (r readings) Read(context.Context) (report.Reading, error) { return report.Reading(r), nil }

// record finds the record of an operation and an engine.
func (k *kept) record(t *testing.T, op, engine string) report.Record {
	t.Helper()
	i := slices.IndexFunc(k.records, func(r report.Record) bool { return r.Op == op && r.Engine == engine })
	if i < 0 {
		t.Fatalf("no record of %s by %s", op, engine)
	}
	return k.records[i]
}

// Every operation in memory, each in its own file's ways where it is one, with
// results equal between processes, ordered and not.
func TestRace(t *testing.T) {
	var ops []string
	for _, p := range problems {
		if p.file == "" {
			ops = append(ops, p.name)
		}
	}
	to, err := raced(t, context.Background(), "right", ops...)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		for _, engine := range []string{"volley", "duckdb", "polars"} {
			r := to.record(t, op, engine)
			if r.OK == nil || !*r.OK || r.Runs < 2 && r.MedianS == nil || *r.MinS > *r.MedianS || r.Way == "" {
				t.Errorf("%s by %s: %+v", op, engine, r)
			}
		}
	}
	if r := to.record(t, "groupby_1e5", "volley-ordered"); r.OK == nil || !*r.OK {
		t.Errorf("%+v", r)
	}
	if slices.ContainsFunc(to.records, func(r report.Record) bool { return r.Op == "sort" && r.Engine == "volley-ordered" }) {
		t.Error("sort was raced in another order")
	}
	grid := to.answers[0].Grid
	if len(grid.Rows) != len(ops) || grid.Rows[0][0] != "sum" || grid.Rows[0][2] != "–" {
		t.Errorf("grid %v", grid.Rows)
	}
	text, err := json.Marshal(to.answers[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	var value struct{ Peers []Line }
	if err := json.Unmarshal(text, &value); err != nil || len(value.Peers) != len(ops) {
		t.Fatalf("%v: %s", err, text)
	}
	l := value.Peers[0]
	if want := l.Peers[l.Best].MinS / l.Ours; l.Op != "sum" || l.Rows != 1000 || l.Bytes != 8008 || math.Abs(l.Ratio-want) > 1e-12 {
		t.Errorf("%+v", l)
	}
}

// What a peer does wrong is a record, a note, or an error that names it.
func TestFaults(t *testing.T) {
	to, err := raced(t, context.Background(), "wrong", "groupby_100")
	if err != nil {
		t.Fatal(err)
	}
	if r := to.record(t, "groupby_100", "polars"); r.OK == nil || *r.OK {
		t.Errorf("a wrong result passed: %+v", r)
	}
	if r := to.record(t, "groupby_100", "volley"); r.OK == nil || !*r.OK {
		t.Errorf("ours agrees with one peer: %+v", r)
	}
	if l := to.answers[0].Value.(map[string]any)["peers"].([]Line)[0]; l.Best != "duckdb" {
		t.Errorf("best is %s", l.Best)
	}
	for mode, want := range map[string]string{"lacks": "no such thing here", "fails": "failed: MemoryError: too much"} {
		to, err := raced(t, context.Background(), mode, "sum")
		if err != nil {
			t.Fatal(err)
		}
		if g := to.answers[0].Grid; !strings.Contains(g.Note, "sum, polars: "+want+".") || g.Rows[0][4] != "–" {
			t.Errorf("%s: %s\n%v", mode, g.Note, g.Rows)
		}
		if slices.ContainsFunc(to.records, func(r report.Record) bool { return r.Engine == "polars" }) {
			t.Errorf("%s: polars has a record", mode)
		}
	}
	for mode, want := range map[string][]string{
		"babbles": {"polars", "no line of JSON"},
		"missing": {"polars", "No module named 'polars'"},
	} {
		_, err := raced(t, context.Background(), mode, "sum")
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, without %q", mode, err, w)
			}
		}
	}
}

// The end of the context ends a worker that does not answer.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	start := time.Now()
	_, err := raced(t, ctx, "hangs", "sum")
	if took := time.Since(start); err == nil || !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) || took > 20*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}

func TestBadOptions(t *testing.T) {
	b, err := volley.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	good := Options{Backend: b, Python: python(t, "right"), Peers: []string{"duckdb"}, Rows: 10, Ops: []string{"sum"}, Rounds: 1, Threads: 1}
	for want, change := range map[string]func(o *Options){
		"0 rows":                 func(o *Options) { o.Rows = 0 },
		"no peer \"excel\"":      func(o *Options) { o.Peers = []string{"excel"} },
		"none named":             func(o *Options) { o.Peers = nil },
		"no operation \"dance\"": func(o *Options) { o.Ops = []string{"dance"} },
		"a gauge with 0 threads": func(o *Options) { o.Threads = 0 },
		"/no/such/python":        func(o *Options) { o.Python = []string{"/no/such/python"} },
	} {
		o := good
		change(&o)
		if err := Run(context.Background(), o, &kept{}, progress.Nothing()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

// The share is of what the machine gave beside each turn, the median of the turns.
func TestShare(t *testing.T) {
	copying := func(r report.Reading) float64 { return r.CopyGBs }
	if s := (&racer{}).share(1e9, copying); s != 0 {
		t.Errorf("share %v without turns", s)
	}
	r := &racer{beside: []beside{{1, report.Reading{CopyGBs: 2}}, {0.5, report.Reading{CopyGBs: 20}}, {0.5, report.Reading{CopyGBs: 8}}}}
	if s := r.share(1e9, copying); s != 0.25 {
		t.Errorf("share %v of 0.5, 0.1 and 0.25", s)
	}
	r.beside = r.beside[:2]
	if s := r.share(1e9, copying); s != 0.3 {
		t.Errorf("share %v of 0.5 and 0.1", s)
	}
}

// Ours alone at two sizes: a record each, and the growth of each order.
func TestGrow(t *testing.T) {
	b, err := volley.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	to := &kept{}
	o := Options{Backend: b, Ops: []string{"groupby_100", "sort"}, Rounds: 2, Threads: 2, gauge: readings{1, 1, 1}}
	if err := Grow(context.Background(), o, []int64{1000, 3000}, to, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	if len(to.records) != 6 || len(to.answers) != 1 {
		t.Fatalf("%d records, %d answers", len(to.records), len(to.answers))
	}
	for _, r := range to.records {
		if r.Engine == "volley-ordered" && (r.OK == nil || !*r.OK) || *r.MinS <= 0 {
			t.Errorf("%+v", r)
		}
	}
	lines := to.answers[0].Value.(map[string]any)["growth"].([]*Grown)
	if len(lines) != 3 || lines[0].Ordered || !lines[1].Ordered || lines[2].Op != "sort" {
		t.Fatalf("%+v", lines)
	}
	for _, l := range lines {
		if len(l.Sizes) != 2 || l.Sizes[1].Rows != 3000 || math.Abs(l.Time-l.Sizes[1].NS/l.Sizes[0].NS) > 1e-12 {
			t.Errorf("%+v", l)
		}
	}
	if g := to.answers[0].Grid; len(g.Rows) != 3 || len(g.Rows[0]) != len(g.Header) {
		t.Errorf("grid %v", g)
	}
	for want, sizes := range map[string][]int64{"no sizes": nil, "0 rows": {10, 0}} {
		if err := Grow(context.Background(), o, sizes, &kept{}, progress.Nothing()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	o.Ops = []string{"csv"}
	if err := Grow(context.Background(), o, []int64{10}, &kept{}, progress.Nothing()); err == nil || !strings.Contains(err.Error(), `no operation "csv" in memory`) {
		t.Error(err)
	}
	if usual := GrowthOperations(); !slices.Contains(usual, "join_str") || slices.Contains(usual, "sort") {
		t.Errorf("usual %v", usual)
	}
}

// Planted differences, and orders that do not matter.
func TestFingerprint(t *testing.T) {
	const n = 10_000
	columns := []kind{exact, approx, exact}
	table := func(change func(k []int64, v []float64, c []string)) *Fingerprint {
		k, v, c := permutation(0, n), floats(1, n), make([]string, n)
		for i := range c {
			c[i] = fmt.Sprintf("text %d", k[i]*k[i])
		}
		change(k, v, c)
		s := texts(n, func(to []byte, i int) []byte { return append(to, c[i]...) })
		f, err := fingerprint([]arrow.RecordBatch{record(column{"k", int64s(k)}, column{"v", float64s(v)}, column{"c", s})}, columns, 1)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	want := table(func([]int64, []float64, []string) {})
	swap := func(k []int64, v []float64, c []string) {
		k[3], k[9000], v[3], v[9000], c[3], c[9000] = k[9000], k[3], v[9000], v[3], c[9000], c[3]
	}
	for name, change := range map[string]func(k []int64, v []float64, c []string){
		"a key":                func(k []int64, v []float64, c []string) { k[77]++ },
		"a sum":                func(k []int64, v []float64, c []string) { v[77] *= 1.001 },
		"sums exchanged":       func(k []int64, v []float64, c []string) { v[1], v[2] = v[2], v[1] },
		"keys exchanged":       func(k []int64, v []float64, c []string) { k[1], k[2] = k[2], k[1] },
		"the end of a text":    func(k []int64, v []float64, c []string) { c[5] += "0" },
		"a row twice, one not": func(k []int64, v []float64, c []string) { k[1], v[1], c[1] = k[2], v[2], c[2] },
		"no number":            func(k []int64, v []float64, c []string) { v[5] = math.NaN() },
	} {
		if d := table(change).differs(want, false); d == "" {
			t.Errorf("%s: passed as equal", name)
		}
	}
	if d := table(func(k []int64, v []float64, c []string) { v[5] *= 1 + 1e-14 }).differs(want, true); d != "" {
		t.Errorf("rounding: %s", d)
	}
	swapped := table(swap)
	if d := swapped.differs(want, false); d != "" {
		t.Errorf("rows exchanged: %s", d)
	}
	if d := swapped.differs(want, true); d == "" {
		t.Error("rows exchanged: passed as the same order")
	}
	short := *want
	short.Rows--
	if short.differs(want, false) == "" {
		t.Error("a row less passed")
	}
}

// Batches and nulls do not change a fingerprint beyond what they say.
func TestFingerprintOfParts(t *testing.T) {
	r := problemNamed("groupby_nulls").inputs(1000)["t"]
	whole, err := fingerprint([]arrow.RecordBatch{r}, []kind{exact, approx}, 1)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := fingerprint([]arrow.RecordBatch{r.NewSlice(0, 333), r.NewSlice(333, 1000)}, []kind{exact, approx}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := parts.differs(whole, true); d != "" {
		t.Error(d)
	}
	if _, err := fingerprint([]arrow.RecordBatch{r}, []kind{exact}, 0); err == nil {
		t.Error("two columns passed as one")
	}
	if _, err := fingerprint([]arrow.RecordBatch{r}, []kind{approx, exact}, 0); err == nil {
		t.Error("integers passed as computed floats")
	}
}

// BenchmarkOperations times ours alone.
func BenchmarkOperations(b *testing.B) {
	backend, err := volley.Open("cpu")
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	rows := int64(1_000_000)
	if testing.Short() {
		rows = 65_536
	}
	ctx := context.Background()
	for i := range problems {
		p := &problems[i]
		if p.file != "" { // a peer writes them
			continue
		}
		s := &stage{records: p.inputs(rows)}
		for _, ordered := range []bool{false, true}[:map[bool]int{false: 1, true: 2}[p.anyOrder]] {
			o := &ours{backend: backend, ordered: ordered}
			b.Run(fmt.Sprintf("op=%s/rows=%d/ordered=%t", p.name, rows, ordered || !p.anyOrder), func(b *testing.B) {
				ways, _, err := o.load(ctx, p, s)
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := o.run(ctx, ways[0].Name, 0, 1); err != nil {
						b.Fatal(err)
					}
				}
				if err := o.unload(ctx); err != nil {
					b.Error(err)
				}
			})
		}
	}
}
