package dataloader

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// through is a device whose pinned memory is another.
type through struct {
	device.Device
	pinned memory.Allocator
}

func (d through) Pinned() memory.Allocator { return d.pinned }

// TestOnDevice copies batches to the device of the test run, and to one whose
// memory the host cannot address, and reads them back on another stream while
// the ring goes round: they are those of a loader without a device.
func TestOnDevice(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 1003, 5, 100)
	counted := memory.NewTraced(memory.Heap)
	far := kerneltest.Remote(memory.Place{Type: memory.CUDA, ID: 9}, cpu.Generic(), host.WithAllocator(counted))
	near := backends.Open(t, func(a memory.Allocator) memory.Allocator { return a })
	for name, d := range map[string]device.Device{"far": far.Device, "near": near.Device} {
		for _, workers := range []int{InCaller, 2} {
			for i, o := range []Options{{}, {Layout: ColumnMajor, Masks: true}} {
				o.Batch, o.Shuffle, o.Epochs, o.Workers, o.Prefetch, o.Labels = 97, true, 2, workers, 3, []string{"ab"}
				want := batchesOf(t, load(t, FromTable(all), o))
				o.Device = d
				l := load(t, FromTable(all), o)
				if got := readBack(t, l, d); !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("%s %d, %d workers: %d batches on the device are not those %d of the host", name, i, workers, len(got), len(want))
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	l := load(t, FromTable(all), Options{Batch: 10, Memory: a})
	one, err := l.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.FeaturesOnDevice(); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("a batch without a device: %v", err)
	}
	if err := one.Release(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(far.Close(), near.Close(), counted.Check()); err != nil {
		t.Error(err)
	}
}

// batchesOf are the features and labels of all batches, as bytes.
func batchesOf(t *testing.T, l *Loader) (all [][]byte) {
	t.Helper()
	for range 2 {
		for b, err := range l.Batches(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range b.slot.tensors {
				all = append(all, append(slices.Clone(x.Data), x.Valid...))
			}
		}
	}
	return all
}

// readBack is batchesOf by way of the device. It waits at the end only.
func readBack(t *testing.T, l *Loader, d device.Device) (all [][]byte) {
	t.Helper()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	copyOut := func(x DeviceTensor, err error) {
		if err != nil {
			t.Fatal(err)
		}
		n := x.Rows * x.Columns
		size := n * widthOf(x.Type)
		mask := int64(0)
		if l.options.Masks {
			mask = n
		}
		to := make([]byte, size+mask)
		b := memory.Wrap(to, nil)
		if err := s.Copy(b, 0, x.Buffer, x.Offset, size); err != nil {
			t.Fatal(err)
		}
		if mask > 0 {
			if err := s.Copy(b, size, x.Buffer, x.ValidOffset, mask); err != nil {
				t.Fatal(err)
			}
		}
		b.Release()
		all = append(all, to)
	}
	for range 2 {
		for b, err := range l.Batches(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Ready(s); err != nil {
				t.Fatal(err)
			}
			copyOut(b.FeaturesOnDevice())
			copyOut(b.LabelsOnDevice())
			if err := b.ReleaseAfter(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPinnedRunsOut goes on in plain memory, with one warning.
func TestPinnedRunsOut(t *testing.T) {
	b, _ := onHost(t)
	all := numbers(t, b, 100, 2)
	far := kerneltest.Remote(memory.Place{Type: memory.CUDA, ID: 9}, cpu.Generic())
	defer far.Close()
	var warnings []string
	o := Options{Batch: 10, Prefetch: 5, Epochs: 2, Device: through{far.Device, memory.NewLimited(memory.Heap, 300)},
		Warn: func(text string, err error) { warnings = append(warnings, fmt.Sprint(text, err)) }}
	got := batchesOf(t, load(t, FromTable(all), o))
	if o.Device = nil; !slices.EqualFunc(got, batchesOf(t, load(t, FromTable(all), o)), slices.Equal) {
		t.Error("the batches are others")
	}
	if len(warnings) != 1 {
		t.Errorf("%d warnings: %q", len(warnings), warnings)
	}
	o.Device, o.Memory = far.Device, memory.NewLimited(memory.Heap, 300)
	if _, err := New(ctx, FromTable(all), o); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("the user's own memory runs out: %v", err)
	}
}

// TestPinnedAlone has a ring in pinned memory without a device, and goes on in
// plain memory when there is no more of it.
func TestPinnedAlone(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 100, 2)
	pinned := memory.NewTraced(memory.NewLimited(memory.Heap, 300))
	var warnings []string
	o := Options{Batch: 10, Prefetch: 5, Epochs: 2, Pinned: pinned, Memory: a, Shuffle: true,
		Warn: func(text string, err error) { warnings = append(warnings, fmt.Sprint(text, err)) }}
	l := load(t, FromTable(all), o)
	if pinned.Check() == nil {
		t.Error("nothing is in pinned memory")
	}
	got := batchesOf(t, l)
	if o.Pinned = nil; !slices.EqualFunc(got, batchesOf(t, load(t, FromTable(all), o)), slices.Equal) {
		t.Error("the batches are others")
	}
	if len(warnings) != 1 {
		t.Errorf("%d warnings: %q", len(warnings), warnings)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := pinned.Check(); err != nil {
		t.Error(err)
	}
}

// TestQueueOfAnother is a batch on a device that has no queues of other libraries.
func TestQueueOfAnother(t *testing.T) {
	b, a := onHost(t)
	far := kerneltest.Remote(memory.Place{Type: memory.CUDA, ID: 9}, cpu.Generic())
	defer far.Close()
	l, err := New(ctx, FromTable(numbers(t, b, 100, 2)), Options{Batch: 10, Memory: a, Device: far.Device})
	if err != nil {
		t.Fatal(err)
	}
	one, err := l.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Wait(ctx); err != nil {
		t.Error(err)
	}
	if err := one.ReleaseAfterQueue(0); !errors.Is(err, device.ErrUnsupported) {
		t.Error(err)
	}
	if err := errors.Join(one.Release(), l.Close()); err != nil {
		t.Error(err)
	}
	if err := one.Wait(ctx); !errors.Is(err, device.ErrClosed) {
		t.Error(err)
	}
}
