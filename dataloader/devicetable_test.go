package dataloader

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// farAway is a backend whose memory the host cannot address: that of the test run if it
// is one, else a pretended one.
func farAway(t *testing.T) *kernels.Backend {
	t.Helper()
	counted := memory.NewTraced(memory.Heap)
	b := backends.Open(t, func(a memory.Allocator) memory.Allocator { return a })
	if b.Device.Place().HostAccessible() {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b = kerneltest.Remote(memory.Place{Type: memory.CUDA, ID: 9}, cpu.Generic(), host.WithAllocator(counted))
	}
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), counted.Check()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// ofTypes is a table of columns of some types, with nulls, in chunks.
func ofTypes(t *testing.T, b *kernels.Backend, rows int, chunks ...int) *table.Table {
	t.Helper()
	whole, small, real, yes, known := make([]int64, rows), make([]uint8, rows), make([]float64, rows), make([]bool, rows), make([]bool, rows)
	single := make([]float32, rows)
	for i := range whole {
		whole[i], small[i], real[i], single[i], yes[i], known[i] = int64(i*7919%10007)-4000, uint8(i*31), float64(i)/3, float32(i)*0.1, i%3 == 0, i%5 != 2
	}
	var all []*table.Batch
	from := 0
	for _, to := range append(chunks, rows) {
		piece, err := table.New(b, table.Column("whole", whole[from:to]), table.Column("small", small[from:to]), table.Column("real", real[from:to]).Valid(known[from:to]),
			table.Column("single", single[from:to]), table.Column("yes", yes[from:to]), table.Column("y", whole[from:to]))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range piece.Chunks() {
			all = append(all, c.Retain())
		}
		piece.Release()
		from = to
	}
	made, err := table.NewTable(b, all[0].Schema(), all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Release)
	return made
}

// TestGathersOnDevice: batches of a table on the device that they go to are gathered
// there, bit for bit those of the host's, while the ring goes round; the table is not
// copied to the host, and the host's tensors are not there.
func TestGathersOnDevice(t *testing.T) {
	b, _ := onHost(t)
	far := farAway(t)
	for _, chunks := range [][]int{nil, {300, 301}} {
		near := ofTypes(t, b, 1003, chunks...)
		there, err := near.To(ctx, far)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range []Options{
			{Masks: true}, {Masks: true, Layout: ColumnMajor, Type: arrow.PrimitiveTypes.Float64}, {Features: []string{"single", "small", "yes"}},
			{Features: []string{"small", "whole", "yes"}, Type: arrow.PrimitiveTypes.Int32, LabelType: arrow.PrimitiveTypes.Int64}, {Features: []string{"whole"}, Masks: true},
		} {
			for _, workers := range []int{InCaller, 2} {
				o.Labels, o.Batch, o.Shuffle, o.Epochs, o.Workers, o.Prefetch, o.Seed = []string{"y"}, 97, true, 2, workers, 3, 7
				o.Remainder, o.Device = Uneven, nil
				want := batchesOf(t, load(t, FromTable(near), o))
				o.Device = far.Device
				src := FromTable(there).(*tableSource)
				l := load(t, src, o)
				if l.there == nil || src.near != nil {
					t.Fatalf("%d: gathered on the device: %t, a copy on the host: %t", i, l.there != nil, src.near != nil)
				}
				if got := readBack(t, l, far.Device); !slices.EqualFunc(got, want, bytes.Equal) {
					t.Errorf("%d, %d workers, chunks %v: %d batches on the device are not those %d of the host", i, workers, chunks, len(got), len(want))
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		there.Release()
	}
}

// TestGathersColumnsOnDevice has tensors of columns in their own types.
func TestGathersColumnsOnDevice(t *testing.T) {
	b, _ := onHost(t)
	far := farAway(t)
	near := ofTypes(t, b, 500)
	there, err := near.To(ctx, far)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Release()
	l := load(t, FromTable(there), Options{Layout: Columns, Masks: true, Batch: 100, Shuffle: true, Device: far.Device})
	same := load(t, FromTable(near), Options{Layout: Columns, Masks: true, Batch: 100, Shuffle: true})
	got, err := l.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want, err := same.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, err := far.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := got.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	for _, f := range near.Schema().Fields() {
		x, err := got.ColumnOnDevice(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		y, err := want.Column(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		to := memory.Wrap(make([]byte, x.Size+x.ValidSize), nil)
		if err := errors.Join(s.Copy(to, 0, x.Buffer, x.Offset, x.Size), s.Copy(to, x.Size, x.Buffer, x.ValidOffset, x.ValidSize), s.Wait(ctx)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(to.Bytes(), append(slices.Clone(y.Data), y.Valid...)) || x.Type != y.Type || x.RowStride != y.RowStride {
			t.Errorf("%s is not the host's", f.Name)
		}
		to.Release()
		if _, err := got.Column(f.Name); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "ColumnOnDevice") {
			t.Errorf("%s in the host's memory: %v", f.Name, err)
		}
	}
	if err := errors.Join(got.Release(), want.Release()); err != nil {
		t.Error(err)
	}
}

// TestRefusedOnDevice: nulls without a mask and integers that do not fit are errors of
// New, as on the host.
func TestRefusedOnDevice(t *testing.T) {
	b, _ := onHost(t)
	far := farAway(t)
	big := make([]int64, 100)
	big[42] = 1 << 40
	near := made(t, b, table.Column("big", big), table.Column("some", make([]float32, 100)).Valid(append(make([]bool, 1), slices.Repeat([]bool{true}, 99)...)))
	there, err := near.To(ctx, far)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Release()
	for name, c := range map[string]struct {
		o    Options
		kind error
		text []string
	}{
		"nulls": {Options{Features: []string{"some"}}, device.ErrMismatch, []string{`"some" has 1 nulls`}},
		"large": {Options{Features: []string{"big"}, Type: arrow.PrimitiveTypes.Int32}, device.ErrValue, []string{`"big"`, "row 42", fmt.Sprint(big[42])}},
	} {
		c.o.Batch, c.o.Device = 10, far.Device
		_, err := New(ctx, FromTable(there), c.o)
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, text := range c.text {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v does not say %s", name, err, text)
			}
		}
	}
}

// TestHostMakesForDevice: what the device's kernels do not make comes by way of the
// host's memory, from a table on the device too: the batches are the same.
func TestHostMakesForDevice(t *testing.T) {
	b, _ := onHost(t)
	far := farAway(t)
	near := numbers(t, b, 700, 5)
	there, err := near.To(ctx, far)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Release()
	for i, o := range []Options{{Type: BFloat16}, {Type: arrow.FixedWidthTypes.Float16}, {Window: &Window{History: 3, Horizon: 1}}} {
		o.Labels, o.Batch, o.Shuffle, o.Epochs = []string{"ab"}, 50, true, 2
		want := batchesOf(t, load(t, FromTable(near), o))
		o.Device = far.Device
		l := load(t, FromTable(there), o)
		if l.there != nil {
			t.Errorf("%d is gathered on the device", i)
		}
		if o.Window != nil {
			continue // readBack knows matrices
		}
		if got := readBack(t, l, far.Device); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%d: other batches", i)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
