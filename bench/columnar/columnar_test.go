package columnar

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// sink keeps what the suite finds.
type sink struct {
	records []report.Record
	answers []report.Answer
}

func (s *sink) Record(r report.Record) error { s.records = append(s.records, r); return nil }
func (s *sink) Answer(a report.Answer) error { s.answers = append(s.answers, a); return nil }

// backend is one over counted memory: the test fails on a leak.
func backend(t *testing.T) (*kernels.Backend, *devicetest.Fake) {
	t.Helper()
	counted, before := memory.NewTraced(memory.Heap), memory.OverReleases()
	fake := devicetest.NewFake(host.New(host.WithAllocator(counted)))
	b, err := cpu.New(fake)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := counted.Check(); err != nil {
			t.Error(err)
		}
		if n := memory.OverReleases() - before; n != 0 {
			t.Errorf("%d releases too many", n)
		}
	})
	return b, fake
}

func TestOperations(t *testing.T) {
	b, _ := backend(t)
	for _, rows := range []int64{1, 2, 1000, 70_000} {
		s := new(sink)
		o := Options{Backends: []*kernels.Backend{b}, Rows: rows, Ops: Names(), Runs: 2, Threads: 2, Limit: report.Bandwidth{ReadGBs: 10, CopyGBs: 8}}
		if err := Run(context.Background(), o, s, progress.Nothing()); err != nil {
			t.Fatalf("%d rows: %v", rows, err)
		}
		if len(s.records) != len(operations) {
			t.Fatalf("%d records", len(s.records))
		}
		for i, r := range s.records {
			if r.Op != operations[i].name || r.OK == nil || !*r.OK {
				t.Errorf("%d rows: %s is not right", rows, r.Label())
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var fields map[string]any
			if err := json.Unmarshal(text, &fields); err != nil {
				t.Fatal(err)
			}
			want := []string{"suite", "op", "engine", "version", "device", "rows", "threads", "median_s", "min_s", "runs", "bytes", "gb_s", "share_of_limit", "ok"}
			if runtime.GOOS == "linux" {
				want = append(want, "peak_rss_bytes")
			}
			for _, name := range want {
				if _, ok := fields[name]; !ok {
					t.Errorf("%s has no %q", text, name)
				}
			}
		}
		if runtime.GOOS == "linux" {
			checkMemory(t, s, rows)
		}
	}
}

// TestOperationsElsewhere runs every operation on a device whose memory the
// host cannot address: answers come back to be checked.
func TestOperationsElsewhere(t *testing.T) {
	b := kerneltest.Remote(memory.Place{Type: memory.CUDA}, cpu.Generic())
	s := new(sink)
	o := Options{Backends: []*kernels.Backend{b}, Rows: 5000, Ops: Names(), Runs: 1, Threads: 2}
	if err := Run(context.Background(), o, s, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	if len(s.records) != 1+len(operations) || s.records[0].Op != "device_copy" {
		t.Fatalf("%d records, the first of %s", len(s.records), s.records[0].Op)
	}
	limit := *s.records[0].GBs
	for i, r := range s.records {
		if r.OK == nil || !*r.OK || r.Device != "cuda:0" || r.Model == "" {
			t.Errorf("%s is not right: %+v", r.Label(), r)
		}
		if i > 0 && math.Abs(*r.ShareOfLimit-*r.GBs/limit) > 1e-9 {
			t.Errorf("%s: %v GB/s are %v of the device's %v", r.Label(), *r.GBs, *r.ShareOfLimit, limit)
		}
	}
	if n := b.Device.(interface{ InUse() int64 }).InUse(); n != 0 {
		t.Errorf("%d bytes are left on the device", n)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// checkMemory checks the table of the memory that operations take.
func checkMemory(t *testing.T, s *sink, rows int64) {
	t.Helper()
	if len(s.answers) != 1 {
		t.Fatalf("%d answers", len(s.answers))
	}
	g := s.answers[0].Grid
	if len(g.Rows) != len(operations) {
		t.Fatalf("%d rows about %d operations", len(g.Rows), len(operations))
	}
	for i, r := range g.Rows {
		columns := int64(1)
		switch op := operations[i].name; {
		case strings.HasPrefix(op, "join"):
			continue // its two sides differ
		case strings.HasPrefix(op, "filter_c"), op == "sum", op == "minmax", op == "cumsum", op == "distinct", op == "argsort", strings.HasSuffix(op, "_32"):
		default:
			columns = 2
		}
		width := int64(8)
		if strings.HasSuffix(operations[i].name, "_32") {
			width = 4
		}
		if want := report.Bytes(width * rows * columns); r[0] != operations[i].name || r[1] != "cpu" || r[2] != want {
			t.Errorf("%q: the input of %d rows is %s", r, rows, want)
		}
	}
}

// flipped is a column whose value i is another.
func flipped(t *testing.T, c *memory.Column, i int64) *memory.Column {
	t.Helper()
	w := int64(memory.Width(c.Type()))
	bytes := slices.Clone(c.Buffer(1).Bytes())
	at := (c.Offset() + i) * w
	if arrow.IsFloating(c.Type().ID()) {
		bytes[at+w-2] ^= 8 // the first bit of a float64's mantissa
	} else {
		bytes[at] ^= 1
	}
	made, err := memory.NewColumn(memory.Parts{Type: c.Type(), Len: c.Len(), Offset: c.Offset(), Buffers: []*memory.Buffer{nil, memory.Wrap(bytes, nil)}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// changed is a table whose column has another value in row i of a chunk, or
// which is shorter by that row where column is -1.
func changed(t *testing.T, from *table.Table, chunk, column int, i int64) *table.Table {
	t.Helper()
	var chunks []*table.Batch
	for k, c := range from.Chunks() {
		switch {
		case k != chunk:
			chunks = append(chunks, c.Retain())
		case column < 0:
			short, err := c.Slice(0, c.Len()-1)
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, short)
		default:
			columns := make([]*memory.Column, c.NumColumns())
			for j := range columns {
				if j == column {
					columns[j] = flipped(t, c.Column(j), i)
				} else {
					columns[j] = c.Column(j).Retain()
				}
			}
			b, err := table.NewBatch(c.Schema(), c.Len(), columns)
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, b)
		}
	}
	made, err := table.NewTable(from.Backend(), from.Schema(), chunks)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestChecks spoils the first and the last value of every column of every
// operation's result: each must be noticed.
func TestChecks(t *testing.T) {
	b, _ := backend(t)
	ctx := context.Background()
	for _, op := range operations {
		j, err := op.make(ctx, b, 1000)
		if err != nil {
			t.Fatal(err)
		}
		got, err := j.run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.check(); err != nil {
			t.Errorf("%s: %v", op.name, err)
		}
		spoiled := 0
		notice := func(r result, what string, column int, row int64) {
			if spoiled++; r.check() == nil {
				t.Errorf("%s: %s %d, row %d, is not noticed", op.name, what, column, row)
			}
		}
		switch r := got.(type) {
		case tableResult:
			last := len(r.Chunks()) - 1
			for column := -1; column < r.NumColumns(); column++ {
				for _, place := range [][2]int64{{0, 0}, {int64(last), r.Chunks()[last].Len() - 1}} {
					other := changed(t, r.Table, int(place[0]), column, place[1])
					notice(tableResult{other, r.holds}, "column", column, place[1])
					other.Release()
				}
			}
		case columnResult:
			for i, c := range r.columns {
				for _, row := range []int64{0, c.Len() - 1} {
					others := slices.Clone(r.columns)
					others[i] = flipped(t, c, row)
					notice(columnResult{r.backend, r.stream, others, r.holds}, "result", i, row)
					others[i].Release()
				}
			}
		}
		if spoiled < 2 {
			t.Errorf("%s: %d results spoiled", op.name, spoiled)
		}
		got.Release()
		j.release()
	}
}

// TestWrongAnswerIsRecorded runs the suite with a kernel that is wrong.
func TestWrongAnswerIsRecorded(t *testing.T) {
	b, _ := backend(t)
	set := *b.Set
	set.Compare.Func = func(ctx context.Context, s device.Stream, op kernels.CompareOp, x, y kernels.Datum) (*memory.Column, error) {
		return b.Set.Compare.Func(ctx, s, kernels.GreaterEqual, x, y)
	}
	bad := &kernels.Backend{Device: b.Device, Set: &set}
	s := new(sink)
	if err := Run(context.Background(), Options{Backends: []*kernels.Backend{bad}, Rows: 100, Ops: []string{"filter_count", "filter_10", "sum"}, Runs: 1}, s, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	if !s.records[0].Wrong() || !s.records[1].Wrong() || s.records[2].Wrong() {
		t.Errorf("%+v", s.records)
	}
}

func TestRefusals(t *testing.T) {
	b, _ := backend(t)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Rows: 0}, "0 rows"}, {Options{Rows: math.MaxInt32 + 1}, "rows, from 1"},
		{Options{Rows: 1, Ops: []string{"sum", "jion"}}, `no operation "jion"; there are [sum minmax`},
	} {
		c.o.Backends, c.o.Runs = []*kernels.Backend{b}, 1
		if err := Run(context.Background(), c.o, new(sink), progress.Nothing()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, op := range Names() {
		err := Run(ctx, Options{Backends: []*kernels.Backend{b}, Rows: 1000, Ops: []string{op}, Runs: 1}, new(sink), progress.Nothing())
		if !errors.Is(err, context.Canceled) && !errors.Is(err, device.ErrCanceled) {
			t.Errorf("%s, cancelled: %v", op, err)
		}
	}
}

// TestOutOfMemory fails the allocations of every operation one after another.
func TestOutOfMemory(t *testing.T) {
	b, fake := backend(t)
	for _, op := range Names() {
		run := func() error {
			return Run(context.Background(), Options{Backends: []*kernels.Backend{b}, Rows: 1000, Ops: []string{op}, Runs: 1}, new(sink), progress.Nothing())
		}
		for n := range int64(6) {
			before := fake.Allocations()
			fake.FailAllocations(n)
			err := run()
			fake.FailAllocations(-1)
			if asked := fake.Allocations() - before; asked > n && !errors.Is(err, device.ErrOutOfMemory) {
				t.Errorf("%s, allocation %d: %v", op, n, err)
			}
			if fake.InUse() != 0 {
				t.Errorf("%s, allocation %d: %d bytes left", op, n, fake.InUse())
			}
		}
	}
}
