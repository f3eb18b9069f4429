package dataloader

import (
	"errors"
	"fmt"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
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
