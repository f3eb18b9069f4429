package dataloader

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// TestTableOnDevice: a table in memory that the host cannot address gives the batches
// and the State that it gives from the host, and stays where it is, unless it is taken.
// Orders by its columns are those of the host.
func TestTableOnDevice(t *testing.T) {
	b, a := onHost(t)
	counted := memory.NewTraced(memory.Heap)
	far := kerneltest.Remote(memory.Place{Type: memory.CUDA, ID: 9}, cpu.Generic(), host.WithAllocator(counted))
	defer func() {
		if err := far.Close(); err != nil {
			t.Error(err)
		}
		if err := counted.Check(); err != nil {
			t.Error(err)
		}
	}()
	near := numbers(t, b, 1003, 6, 100, 700)
	there, err := near.To(ctx, far)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Release()
	for name, src := range map[string]func(*table.Table) Source{
		"from": FromTable, "taken": func(t *table.Table) Source { return TakeTable(t.Retain()) },
	} {
		for i, o := range []Options{{Shuffle: true}, {Shuffle: true, Spare: -1, Layout: ColumnMajor}, {Labels: []string{"aa"}}} {
			o.Batch, o.Epochs, o.Memory = 97, 2, a
			got, want := load(t, src(there), o), load(t, FromTable(near), o)
			same(t, fmt.Sprint(name, i), got, want)
			x, err := got.State(ctx)
			y, wrong := want.State(ctx)
			if x != y || err != nil || wrong != nil {
				t.Errorf("%s: %+v, %v and %+v, %v", name, x, err, y, wrong)
			}
		}
	}
	if there.Chunks()[0].Column(0).Place().HostAccessible() {
		t.Error("the table moved")
	}
}

// TestOrdersOnDevice makes orders by columns of a table in memory that the host cannot
// address, texts and nulls among them: they are those of the same table on the host, and
// its batches come in them.
func TestOrdersOnDevice(t *testing.T) {
	b, a := onHost(t)
	far := kerneltest.Remote(memory.Place{Type: memory.CUDA, ID: 9}, cpu.Generic())
	defer func() {
		if err := far.Close(); err != nil {
			t.Error(err)
		}
	}()
	const rows = 700
	x, group, name, weight, known := make([]float32, rows), make([]int64, rows), make([]string, rows), make([]int32, rows), make([]bool, rows)
	for i := range x {
		x[i], group[i], name[i], weight[i], known[i] = float32(i), int64(i/90), []string{"b", "a", ""}[i*i%3], int32(i%5), i%4 != 1
	}
	near := made(t, b, table.Column("x", x), table.Column("g", group), table.Column("n", name).Valid(known), table.Column("w", weight), table.Column("v", weight).Valid(known))
	there, err := near.To(ctx, far)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Release()
	for which, by := range map[string]func(*table.Table) (order.Order, error){
		"weights": func(t *table.Table) (order.Order, error) { return WeightedBy(ctx, t.Query(), "w", 300, 9) },
		"groups":  func(t *table.Table) (order.Order, error) { return GroupedBy(ctx, t.Query(), "g", 9) },
		"texts":   func(t *table.Table) (order.Order, error) { return StratifiedBy(ctx, t.Query(), "n", 9) },
	} {
		got, err := by(there)
		if err != nil {
			t.Errorf("%s: %v", which, err)
			continue
		}
		want, err := by(near)
		if err != nil || got.Hash() != want.Hash() {
			t.Fatalf("%s: %v, or another order", which, err)
		}
		o := Options{Features: []string{"x"}, Batch: 97, Epochs: 2, Memory: a}
		o.Order = want
		from := load(t, FromTable(near), o)
		o.Order = got
		same(t, which, load(t, FromTable(there), o), from)
	}
	if _, err := WeightedBy(ctx, there.Query(), "v", 0, 9); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "row 1, ") {
		t.Errorf("a null weight: %v", err)
	}
}

// TestTableOnDeviceKept: loaders of a table on a device read one copy of it, and so does
// State; it is gone with the last of them.
func TestTableOnDeviceKept(t *testing.T) {
	b, a := onHost(t)
	far := kerneltest.Remote(memory.Place{Type: memory.CUDA, ID: 9}, cpu.Generic())
	defer func() {
		if err := far.Close(); err != nil {
			t.Error(err)
		}
	}()
	there, err := numbers(t, b, 1003, 6, 100, 700).To(ctx, far)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Release()
	s := FromTable(there).(*tableSource)
	if s.near != nil {
		t.Error("a copy before there is a loader")
	}
	o := Options{Batch: 97, Shuffle: true, Memory: a}
	first, second := load(t, s, o), load(t, s, o)
	copied := s.near
	if copied == nil || first.reader.(*nearReader).table != copied || second.reader.(*nearReader).table != copied {
		t.Error("a copy for each loader")
	}
	state, err := first.State(ctx)
	if err != nil || s.near != copied {
		t.Errorf("%v, a copy for State: %t", err, s.near != copied)
	}
	third, err := Resume(ctx, s, o, state)
	if err != nil || third.reader.(*nearReader).table != copied {
		t.Fatalf("%v, or a copy for Resume", err)
	}
	for _, l := range []*Loader{first, third} {
		if err := l.Close(); err != nil || s.near != copied {
			t.Errorf("%v, or the copy went before the last loader", err)
		}
	}
	if err := second.Close(); err != nil || s.near != nil || s.lent != 0 {
		t.Errorf("%v, or the copy outlives the loaders", err)
	}
	last := load(t, s, o)
	if again, err := last.State(ctx); err != nil || again != state {
		t.Errorf("%+v, %v, not %+v", again, err, state)
	}
}

// counting counts the streams that are made of a device, of which each copy of a table to the
// host takes one.
type counting struct {
	device.Device
	streams atomic.Int64
}

func (c *counting) NewStream() (device.Stream, error) {
	c.streams.Add(1)
	return c.Device.NewStream()
}

// TestTableOnDeviceResumed: New and Resume copy a table on a device once, also under windows,
// of several series too, and derived columns, and a state that is refused leaves no copy.
func TestTableOnDeviceResumed(t *testing.T) {
	b, a := onHost(t)
	far := kerneltest.Remote(memory.Place{Type: memory.CUDA, ID: 9}, cpu.Generic())
	copies := &counting{Device: far.Device}
	far.Device = copies
	defer func() {
		if err := far.Close(); err != nil {
			t.Error(err)
		}
	}()
	there, err := numbers(t, b, 1003, 3).To(ctx, far)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Release()
	for name, over := range map[string]func(Source) (Source, error){
		"table": func(s Source) (Source, error) { return s, nil }, "derived": func(s Source) (Source, error) { return DeriveBeside(b, s, Column{"z", expr.Col("aa")}) },
	} {
		for _, w := range []*Window{nil, {History: 3}, {History: 1, Entity: "aa"}} {
			from := FromTable(there).(*tableSource)
			s, err := over(from)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Batch: 97, Shuffle: true, Memory: a, Window: w}
			copies.streams.Store(0)
			l, err := New(ctx, s, o)
			if err != nil {
				t.Fatal(err)
			}
			if n := copies.streams.Load(); n != 1 {
				t.Errorf("%s: New makes %d copies", name, n)
			}
			state, err := l.State(ctx)
			if err := errors.Join(err, l.Close()); err != nil {
				t.Fatal(err)
			}
			copies.streams.Store(0)
			again, err := Resume(ctx, s, o, state)
			if n := copies.streams.Load(); err != nil || n != 1 || from.lent != 1 {
				t.Errorf("%s: %v, %d copies, %d lent", name, err, n, from.lent)
			}
			if err := again.Close(); err != nil || from.near != nil {
				t.Errorf("%s: %v, or the copy outlives the loader", name, err)
			}
			state.Seed++
			if _, err := Resume(ctx, s, o, state); !errors.Is(err, device.ErrMismatch) || from.near != nil || from.lent != 0 {
				t.Errorf("%s: %v, or the copy outlives what was refused", name, err)
			}
		}
	}
}
