package dataloader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// flown is a table of facts with a text key, and the table of what the keys mean.
func flown(t testing.TB, b *kernels.Backend, rows int) (facts, places *table.Table) {
	t.Helper()
	x, from, n := make([]float64, rows), make([]string, rows), make([]int64, rows)
	for i := range x {
		x[i], from[i], n[i] = float64(i)/4, fmt.Sprint("p", i*i%7), int64(i)
	}
	facts = made(t, b, table.Column("x", x), table.Column("from", from), table.Column("n", n))
	places = made(t, b, table.Column("code", []string{"p0", "p1", "p2", "p9"}), table.Column("height", []float32{0, 10, 20, 40}))
	return facts, places
}

// joined adds the height of where a row is from to a query.
func joined(q *table.Query, places *table.Table) *table.Query {
	return q.Join(places, table.Left, table.Keys("from", "code")).Select("x", "from", expr.Col("height").Sub(expr.Col("x")).As("above"))
}

func joinMap(places *table.Table) BatchMap {
	return BatchMap{Name: "heights 1", Columns: []string{"from", "x"}, Do: func(ctx context.Context, batch *table.Table) (*table.Table, error) {
		return joined(batch.Query(), places).Collect(ctx)
	}}
}

// mapOver is MapBatches, which must not fail.
func mapOver(t testing.TB, b *kernels.Backend, s Source, m BatchMap) Source {
	t.Helper()
	d, err := MapBatches(ctx, b, s, m)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestMapBatches joins batches of every source, order and layout with a table, and holds
// them against the join of the whole.
func TestMapBatches(t *testing.T) {
	b, a := onHost(t)
	const rows = 303
	facts, places := flown(t, b, rows)
	whole, err := joined(facts.Query(), places).Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Release()
	var begun atomic.Int64
	stream, err := FromBatches(b, facts.Schema(), rows, pieces(facts, 40, &begun), StreamOptions{Piece: 60})
	if err != nil {
		t.Fatal(err)
	}
	chunks := []*table.Batch{}
	for i, at := range []int64{0, 1, 100, 101, 250} {
		one, err := facts.Chunks()[0].Slice(at, []int64{1, 100, 101, 250, rows}[i]-at)
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, one)
	}
	cut, err := table.NewTable(b, facts.Schema(), chunks)
	if err != nil {
		t.Fatal(err)
	}
	defer cut.Release()
	sources := map[string]Source{"table": FromTable(facts), "chunks": FromTable(cut), "stream": stream}
	for name, s := range written(t, b, facts) {
		sources[name] = opened(t, b, s, FileOptions{Cache: 2000})
	}
	for name, s := range sources {
		d := mapOver(t, b, s, joinMap(places))
		if name == "chunks" { // a map over a map, which gives its tables on
			d = mapOver(t, b, mapOver(t, b, s, BatchMap{Name: "as it is", Do: func(_ context.Context, t *table.Table) (*table.Table, error) { return t, nil }}), joinMap(places))
		}
		for i, o := range []Options{
			{Labels: []string{"above"}, Shuffle: true}, {Layout: Columns}, {Features: []string{"above", "x"}, Layout: ColumnMajor, Workers: InCaller},
			{Features: []string{"above", "x"}, Window: &Window{History: 4, Horizon: 2}, Labels: []string{"x"}}, {Batch: 1000, Size: 2, Rank: 1, Workers: 3},
		} {
			if o.Shuffle = o.Shuffle && name != "stream"; o.Batch == 0 {
				o.Batch = 37
			}
			if o.Features == nil || slices.Contains(o.Features, "from") {
				o.Encode = map[string]*Encoding{"from": OneHot("p0", "p1", "p2", "p4")}
			}
			o.Epochs, o.Masks, o.Memory = 2, true, a
			l := load(t, d, o)
			same(t, fmt.Sprint(name, i), l, load(t, FromTable(whole), o))
			if _, err := l.State(ctx); err != nil {
				t.Error(err)
			}
			if s := l.Stats(); s.Transform == 0 {
				t.Errorf("%s: no time in the function: %+v", name, s)
			}
		}
	}
}

// TestMapBatchesOfNumbers maps sources that give no tables: those of TakeTable, derived
// ones.
func TestMapBatchesOfNumbers(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 200, 3, 70)
	double := BatchMap{Name: "double", Columns: []string{"ac", "aa"}, Do: func(ctx context.Context, batch *table.Table) (*table.Table, error) {
		return batch.Query().Select(expr.Col("aa").Add(expr.Col("ac")).As("sum")).Collect(ctx)
	}}
	derived, err := DeriveBeside(b, FromTable(all), Column{"ac", expr.Col("ac").Mul(1)})
	if err != nil {
		t.Fatal(err)
	}
	want := mapOver(t, b, FromTable(all), double)
	for name, s := range map[string]Source{"taken": TakeTable(all.Retain()), "derived": derived} {
		o := Options{Batch: 33, Epochs: 2, Shuffle: true, Memory: a}
		same(t, name, load(t, mapOver(t, b, s, double), o), load(t, want, o))
	}
	texts, _ := flown(t, b, 10)
	if _, err := MapBatches(ctx, b, TakeTable(texts), joinMap(texts)); !errors.Is(err, device.ErrUnsupported) || !strings.Contains(err.Error(), `column "from"`) {
		t.Errorf("texts of a taken table: %v", err)
	}
}

// lowOnly keeps the rows whose n, of a hundred, is less than a limit.
func lowOnly(limit, most int64) BatchMap {
	return BatchMap{Name: fmt.Sprint("low ", limit), MaxRows: most, Do: func(ctx context.Context, batch *table.Table) (*table.Table, error) {
		return batch.Query().Filter(expr.Col("n").Lt(limit)).Collect(ctx)
	}}
}

// TestMapBatchesFilter filters in batches: as many batches on every rank, some without
// rows, every kept row once, and a state that counts the rows of the source.
func TestMapBatchesFilter(t *testing.T) {
	b, a := onHost(t)
	const rows = 101
	facts, _ := flown(t, b, rows)
	s := mapOver(t, b, FromTable(facts), lowOnly(20, 8))
	o := Options{Features: []string{"n"}, Batch: 8, Epochs: 1, Memory: a, Size: 3, Remainder: Uneven}
	var kept []float32
	var state State
	for o.Rank = range 3 {
		l := load(t, s, o)
		steps := int64(0)
		for batch, err := range l.Batches(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, heights(t, batch)...)
			if steps++; steps == 2 {
				break
			}
		}
		var err error
		if state, err = l.State(ctx); err != nil || state.Position != 48 {
			t.Errorf("%+v, %v", state, err)
		}
	}
	for o.Size, o.Rank = 2, 0; o.Rank < 2; o.Rank++ {
		l, err := Resume(ctx, s, o, state)
		if err != nil {
			t.Fatal(err)
		}
		for batch, err := range l.Batches(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, heights(t, batch)...)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(kept)
	if len(kept) != 20 || kept[0] != 0 || kept[19] != 19 {
		t.Errorf("%v", kept)
	}
	for want, make := range map[string]func() error{
		"windows are made of rows that stay": func() error {
			_, err := New(ctx, s, Options{Batch: 8, Features: []string{"n"}, Window: &Window{History: 2}})
			return err
		},
		"derived columns are made of rows that stay": func() error { _, err := Derive(b, s, Column{"y", expr.Col("n")}); return err },
	} {
		if err := make(); !errors.Is(err, device.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	// Twice as many rows as were asked for, and a function over a function.
	twice := BatchMap{Name: "twice", MaxRows: 16, Do: func(ctx context.Context, batch *table.Table) (*table.Table, error) {
		return batch.Query().Union(batch).Collect(ctx)
	}}
	same2 := BatchMap{Name: "as it is", Do: func(_ context.Context, t *table.Table) (*table.Table, error) { return t, nil }}
	l := load(t, mapOver(t, b, mapOver(t, b, FromTable(facts), twice), same2), Options{Features: []string{"n"}, Batch: 8, Epochs: 1, Memory: a, Layout: ColumnMajor})
	total := 0
	for batch, err := range l.Batches(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		x := heights(t, batch)
		if rows, err := batch.Rows(); err != nil || len(x) != 2*len(rows) || x[len(rows)] != float32(rows[0]) {
			t.Errorf("%v of %v: %v", x, rows, err)
		}
		total += len(x)
	}
	if total != 2*rows {
		t.Errorf("%d rows", total)
	}
}

// heights are the features of a batch, as many rows as it says.
func heights(t *testing.T, b Batch) []float32 {
	t.Helper()
	x, err := b.Features()
	info, wrong := b.Info()
	if err != nil || wrong != nil || x.Rows != info.Rows {
		t.Fatalf("%v, %v, %d rows and %d", err, wrong, x.Rows, info.Rows)
	}
	return elements[float32](t, x)
}

// TestMapBatchesFails is what a function may do wrong, and what is said of it: the batch,
// its position, the function.
func TestMapBatchesFails(t *testing.T) {
	b, a := onHost(t)
	facts, places := flown(t, b, 100)
	broken := errors.New("broken")
	as := func(items ...any) func(context.Context, *table.Table) (*table.Table, error) {
		return func(ctx context.Context, t *table.Table) (*table.Table, error) {
			return t.Query().Select(items...).Collect(ctx)
		}
	}
	for want, c := range map[string]struct {
		kind error
		do   func(ctx context.Context, t *table.Table) (*table.Table, error)
	}{
		"broken":           {broken, func(context.Context, *table.Table) (*table.Table, error) { return nil, broken }},
		"panicked: broken": {broken, func(context.Context, *table.Table) (*table.Table, error) { panic(broken) }},
		"panicked: runtime error: index": {nil, func(_ context.Context, t *table.Table) (*table.Table, error) {
			var none []int
			return t, fmt.Errorf("%d", none[0])
		}},
		"ended its goroutine":             {nil, func(context.Context, *table.Table) (*table.Table, error) { runtime.Goexit(); return nil, nil }},
		"no table and no error":           {device.ErrMismatch, func(context.Context, *table.Table) (*table.Table, error) { return nil, nil }},
		`the table has no column "above"`: {device.ErrMismatch, as("x", "from")},
		`column "above" is of type int64, and of float64 in its schema`: {device.ErrMismatch, as("x", "from", expr.Col("x").Mul(4).Cast(arrow.PrimitiveTypes.Int64).As("above"))},
		`columns [x above from], and its schema [x from above]`:         {device.ErrMismatch, as("x", expr.Col("x").As("above"), "from")},
		"7 rows were made of 10: set MaxRows": {device.ErrMismatch, func(ctx context.Context, t *table.Table) (*table.Table, error) {
			return joined(t.Query().Head(7), places).Collect(ctx)
		}},
		`column "above" has 3 nulls`: {device.ErrMismatch, nil},
	} {
		var calls atomic.Int64
		m := joinMap(places)
		well := m.Do
		m.Do = func(ctx context.Context, t *table.Table) (*table.Table, error) {
			if n := calls.Add(1); n != 4 || c.do == nil { // the first is of no rows
				filled, err := t.Query().Join(places, table.Left, table.Keys("from", "code")).
					Select("x", "from", expr.Coalesce(expr.Col("height").Cast(arrow.PrimitiveTypes.Float64), 0).Sub(expr.Col("x")).As("above")).Collect(ctx)
				if c.do == nil && n == 4 {
					filled.Release()
					return well(ctx, t)
				}
				return filled, err
			}
			return c.do(ctx, t)
		}
		l := load(t, mapOver(t, b, FromTable(facts), m), Options{Features: []string{"above"}, Batch: 10, Epochs: 1, Workers: 1, Memory: a, Size: 2})
		var err error
		for _, err = range l.Batches(ctx) {
		}
		if err == nil || !strings.Contains(err.Error(), `batch 2 of epoch 0, at position 40: `) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if want != "ended its goroutine" && (!strings.Contains(err.Error(), `: transform: "heights 1": `) || c.kind != nil && !errors.Is(err, c.kind)) {
			t.Errorf("%s: %v", want, err)
		}
	}
	few, err := facts.Query().Head(0).Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer few.Release()
	if _, err := New(ctx, mapOver(t, b, FromTable(few), joinMap(places)), Options{Features: []string{"x"}, Batch: 10}); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "has no rows") {
		t.Errorf("no rows: %v", err)
	}
	l := load(t, mapOver(t, b, FromTable(facts), BatchMap{Name: "few", MaxRows: 3, Schema: facts.Schema(),
		Do: func(_ context.Context, t *table.Table) (*table.Table, error) { return t, nil }}), Options{Features: []string{"x"}, Batch: 10, Memory: a})
	if _, err := l.Next(ctx); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "10 rows were made of 10, more than MaxRows, 3") {
		t.Errorf("too many: %v", err)
	}
}

// TestMapBatchesRefused is what MapBatches does not take.
func TestMapBatchesRefused(t *testing.T) {
	b, _ := onHost(t)
	facts, places := flown(t, b, 10)
	for want, change := range map[string]func(*BatchMap){
		"no function":          func(m *BatchMap) { m.Do = nil },
		"has no name":          func(m *BatchMap) { m.Name = "" },
		`no column "y"`:        func(m *BatchMap) { m.Columns = []string{"y"} },
		`"x" is named twice`:   func(m *BatchMap) { m.Columns = []string{"x", "x"} },
		"at most -1 rows":      func(m *BatchMap) { m.MaxRows = -1 },
		"a table without rows": func(m *BatchMap) { m.Columns = []string{"x"} },
		`heights 1": panicked: nothing`: func(m *BatchMap) {
			m.Do = func(context.Context, *table.Table) (*table.Table, error) { panic("nothing") }
		},
	} {
		m := joinMap(places)
		change(&m)
		if _, err := MapBatches(ctx, b, FromTable(facts), m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestMapBatchesResume goes on in an epoch with the same function, and is refused with
// another one.
func TestMapBatchesResume(t *testing.T) {
	b, a := onHost(t)
	facts, places := flown(t, b, 100)
	o := Options{Features: []string{"x"}, Batch: 7, Shuffle: true, Epochs: 2, Memory: a}
	first := load(t, mapOver(t, b, FromTable(facts), joinMap(places)), o)
	for range 5 {
		next(t, first)
	}
	state, err := first.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Resume(ctx, mapOver(t, b, FromTable(facts), joinMap(places)), o, state)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for {
		want, _ := next(t, first)
		if got, _ := next(t, again); !slices.Equal(got, want) {
			t.Fatalf("%v, and went on with %v", want, got)
		}
		if want == nil {
			break
		}
	}
	for name, change := range map[string]func(*BatchMap){
		"name": func(m *BatchMap) { m.Name = "heights 2" }, "columns": func(m *BatchMap) { m.Columns = nil }, "rows": func(m *BatchMap) { m.MaxRows = 100 },
	} {
		m := joinMap(places)
		change(&m)
		if _, err := Resume(ctx, mapOver(t, b, FromTable(facts), m), o, state); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "have changed: the expressions, or the function of batches") {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

// TestMapBatchesSkipBad leaves rows out whose category nothing knows, of batches that are
// mapped once more then, and pieces that are damaged.
func TestMapBatchesSkipBad(t *testing.T) {
	b, a := onHost(t)
	facts, places := flown(t, b, 2800)
	path := t.TempDir() + "/x.parquet"
	read, err := facts.Query().Select("x", "from").Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Release()
	if err := storage.WriteParquet(ctx, read, path, storage.ParquetOptions{RowGroupRows: 700, Compression: storage.CompressionZstd}); err != nil {
		t.Fatal(err)
	}
	damage(t, path, 0.4)
	o := Options{Features: []string{"from"}, Encode: map[string]*Encoding{"from": Categories("p0", "p1", "p2")}, Batch: 50, Epochs: 1, SkipBad: true, Memory: a}
	for name, s := range map[string]Source{"table": FromTable(facts), "file": opened(t, b, storage.Parquet(path), FileOptions{})} {
		l := load(t, mapOver(t, b, s, joinMap(places)), o)
		kept := int64(0)
		for batch, err := range l.Batches(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			rows, err := batch.Rows()
			if err != nil {
				t.Fatal(err)
			}
			kept += int64(len(rows))
			for _, r := range rows {
				if r*r%7 == 4 {
					t.Errorf("%s: row %d has an unknown category", name, r)
				}
			}
		}
		if s := l.Stats(); kept+s.Skipped != 2800 || name == "table" && s.Skipped != 800 || name == "file" && (s.Skipped <= 800 || kept == 0) {
			t.Errorf("%s: %d rows, %d left out", name, kept, s.Skipped)
		}
	}
	o.Features, o.Encode = []string{"from"}, map[string]*Encoding{"from": Categories("p0")}
	m := lowOnly(1000, 50)
	l := load(t, mapOver(t, b, FromTable(facts), m), o)
	if _, err := l.Next(ctx); err == nil || err == io.EOF {
		t.Errorf("rows that a function may have moved were left out: %v", err)
	}
}

// TestMapBatchesOnDevice takes the rows of a table on a device there, and the function
// works there.
func TestMapBatchesOnDevice(t *testing.T) {
	b, a := onHost(t)
	far := kerneltest.Remote(memory.Place{Type: memory.CUDA, ID: 9}, cpu.Generic())
	defer func() {
		if err := far.Close(); err != nil {
			t.Error(err)
		}
	}()
	near := numbers(t, b, 303, 3, 100, 250)
	there, err := near.To(ctx, far)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Release()
	var elsewhere atomic.Int64
	sum := func(place memory.Place) BatchMap {
		return BatchMap{Name: "sum", Do: func(ctx context.Context, batch *table.Table) (*table.Table, error) {
			for _, c := range batch.Chunks() {
				if c.Column(0).Place() != place {
					elsewhere.Add(1)
				}
			}
			return batch.Query().Select(expr.Col("aa").Add(expr.Col("ac")).As("sum"), "ab").Collect(ctx)
		}}
	}
	host, device := b.Device.Place(), far.Device.Place()
	for name, d := range map[string]Source{
		"there": mapOver(t, far, FromTable(there), sum(device)), "brought": mapOver(t, b, FromTable(there), sum(host)), "sent": mapOver(t, far, FromTable(near), sum(device)),
	} {
		for i, shuffle := range []bool{false, true} {
			o := Options{Batch: 37, Epochs: 1, Shuffle: shuffle, Memory: a}
			same(t, fmt.Sprint(name, i), load(t, d, o), load(t, mapOver(t, b, FromTable(near), sum(host)), o))
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d chunks elsewhere", n)
	}
}

// BenchmarkMapBatches joins batches of 4096 rows, shuffled, with a table of 1000 rows, beside
// batches that are not mapped.
func BenchmarkMapBatches(b *testing.B) {
	back, a := onHost(b)
	const rows = 1 << 19
	key, x, codes, heights := make([]int64, rows), make([]float32, rows), make([]int64, 1000), make([]float32, 1000)
	for i := range key {
		key[i], x[i] = int64(i)*7919%1000, float32(i)
	}
	for i := range codes {
		codes[i], heights[i] = int64(i), float32(i)*2
	}
	facts := made(b, back, table.Column("key", key), table.Column("x", x))
	places := made(b, back, table.Column("code", codes), table.Column("height", heights))
	joins, err := MapBatches(ctx, back, FromTable(facts), BatchMap{Name: "join", Do: func(ctx context.Context, batch *table.Table) (*table.Table, error) {
		return batch.Query().Join(places, table.Left, table.Keys("key", "code")).Collect(ctx)
	}})
	if err != nil {
		b.Fatal(err)
	}
	for name, s := range map[string]Source{"map=join": joins, "map=none": FromTable(facts)} {
		b.Run(name, func(b *testing.B) {
			l := load(b, s, Options{Batch: 4096, Shuffle: true, Memory: a})
			b.SetBytes(rows)
			for b.Loop() {
				for _, err := range l.Batches(ctx) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
