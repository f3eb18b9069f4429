package dataloader

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// TestTakeTable holds a table that was taken to give what it gives otherwise, and
// the same State.
func TestTakeTable(t *testing.T) {
	b, a := onHost(t)
	valid := make([]bool, 9)
	for i := range valid {
		valid[i] = i%3 != 1
	}
	mixed := made(t, b, table.Column("i", []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}), table.Column("f", []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}).Valid(valid),
		table.Column("b", []bool{true, false, true, true, false, false, true, true, false}))
	for name, all := range map[string]*table.Table{"numbers": numbers(t, b, 1003, 6, 100, 700), "mixed": mixed} {
		for i, o := range []Options{
			{Masks: true}, {Masks: true, Layout: ColumnMajor}, {Masks: true, Layout: Columns}, {Masks: true, Type: arrow.PrimitiveTypes.Float64, Labels: []string{all.Schema().Field(0).Name}},
		} {
			o.Batch, o.Shuffle, o.Epochs, o.Memory = 97, true, 2, a
			got, want := load(t, TakeTable(all.Retain()), o), load(t, FromTable(all), o)
			same(t, fmt.Sprint(name, i), got, want)
			x, err := got.State(ctx)
			y, wrong := want.State(ctx)
			if x != y || err != nil || wrong != nil {
				t.Errorf("%s: %+v, %v and %+v, %v", name, x, err, y, wrong)
			}
		}
	}
}

// TestTakenAgain goes on at a State over rows that an open loader has taken, while
// they are laid out and after, and after that loader is gone.
func TestTakenAgain(t *testing.T) {
	b, a := onHost(t)
	for _, cuts := range [][]int64{nil, {100, 20_000}} {
		all := numbers(t, b, 40_000, 5, cuts...)
		s := TakeTable(all.Retain())
		o := Options{Batch: 97, Shuffle: true, Epochs: 1, Memory: a}
		l, err := New(ctx, s, o)
		if err != nil {
			t.Fatal(err)
		}
		want := load(t, FromTable(all), o)
		for range 3 {
			next(t, l)
			next(t, want)
		}
		state, err := l.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Resume(ctx, s, o, state)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		for k := range 5 {
			x, err := again.Next(ctx)
			y, wrong := want.Next(ctx)
			if err != nil || wrong != nil {
				t.Fatal(err, wrong)
			}
			if !slices.Equal(x.slot.tensors[0].Data, y.slot.tensors[0].Data) {
				t.Errorf("batch %d differs", k)
			}
			if err := errors.Join(x.Release(), y.Release()); err != nil {
				t.Fatal(err)
			}
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Resume(ctx, s, o, state); !errors.Is(err, device.ErrClosed) {
			t.Error(err)
		}
	}
}

// TestTakenLoan closes loaders before the rows are laid out, reads what is laid
// out, and counts one copy of the data then.
func TestTakenLoan(t *testing.T) {
	b, a := onHost(t)
	for range 20 {
		if err := load(t, TakeTable(numbers(t, b, 30_000, 8).Retain()), Options{Batch: 10, Memory: a}).Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := TakeTable(numbers(t, b, 30_000, 8).Retain())
	l := load(t, s, Options{Batch: 10, Memory: a, Masks: true})
	r := l.reader.(*takenLoan)
	r.laying.Wait()
	if r.from != nil || r.whole != nil || s.sums == nil {
		t.Error("the table is kept")
	}
	if rows, _ := next(t, l); len(rows) != 10 {
		t.Errorf("%d rows", len(rows))
	}
	if got := l.Stats().Spare; got != 30_000*8*4 {
		t.Errorf("%d bytes are laid out", got)
	}
}

// TestTakenOnce makes loaders of one table twice, and none.
func TestTakenOnce(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 100, 3, 50)
	s := TakeTable(all.Retain())
	if _, err := New(ctx, s, Options{Batch: 7, Features: []string{"aa"}, Memory: memory.NewLimited(a, 300)}); !errors.Is(err, device.ErrOutOfMemory) {
		t.Error(err)
	}
	load(t, s, Options{Batch: 7, Memory: a, Features: []string{"aa"}})
	if _, err := New(ctx, s, Options{Batch: 7, Memory: a}); !errors.Is(err, device.ErrClosed) {
		t.Error(err)
	}
	if _, err := s.Fingerprint(ctx, []int{1}); !errors.Is(err, device.ErrClosed) {
		t.Error(err)
	}
	none := TakeTable(all.Retain())
	if err := errors.Join(none.Close(), none.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	whole := TakeTable(all.Retain())
	defer whole.Close()
	if _, err := New(ctx, whole, Options{Batch: 7, Window: &Window{History: 2, Entity: "aa"}}); !errors.Is(err, device.ErrUnsupported) {
		t.Error(err)
	}
	big := made(t, b, table.Column("big", []int64{1, 1 << 40}))
	s = TakeTable(big.Retain())
	if _, err := New(ctx, s, Options{Batch: 1, Type: arrow.PrimitiveTypes.Int32, Memory: a}); !errors.Is(err, device.ErrValue) {
		t.Error(err)
	}
	load(t, s, Options{Batch: 1, Memory: a}) // it was not lost by that
}

// TestTakenAfterTheFirst: a large table is laid out from the first batch on, which does not
// wait for it.
func TestTakenAfterTheFirst(t *testing.T) {
	b, a := onHost(t)
	before := layAtOnce
	defer func() { layAtOnce = before }()
	for _, at := range []int64{0, before} {
		layAtOnce = at
		all := numbers(t, b, 5000, 5)
		l := load(t, TakeTable(all.Retain()), Options{Batch: 100, Shuffle: true, Workers: InCaller, Memory: a})
		r := l.reader.(*takenLoan).takenReader
		r.laying.Wait()
		if laid := r.from == nil; laid != (at > 0) {
			t.Errorf("with %d bytes at once it is laid out before the first batch: %t", at, laid)
		}
		next(t, l)
		r.laying.Wait()
		if r.from != nil || r.whole != nil {
			t.Error("not laid out after the first batch")
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
