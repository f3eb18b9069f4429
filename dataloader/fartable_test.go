package dataloader

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

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
// Orders by its columns are refused.
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
	if _, err := GroupedBy(ctx, there.Query(), "aa", 3); !errors.Is(err, device.ErrUnsupported) {
		t.Errorf("an order of a table on a device: %v", err)
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

// TestTableOnDeviceResumed: Resume copies a table on a device once, also under windows and
// derived columns, and a state that is refused leaves no copy.
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
		"table": func(s Source) (Source, error) { return s, nil }, "derived": func(s Source) (Source, error) { return Derive(b, s, Column{"z", expr.Col("aa")}) },
	} {
		for _, w := range []*Window{nil, {History: 3}} {
			from := FromTable(there).(*tableSource)
			s, err := over(from)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Batch: 97, Shuffle: true, Memory: a, Window: w}
			l, err := New(ctx, s, o)
			if err != nil {
				t.Fatal(err)
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
