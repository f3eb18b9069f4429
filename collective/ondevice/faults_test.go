package ondevice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/faultinject"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// everywhere runs a test on the devices of this machine: the backend of VOLLEY_BACKEND, a
// pretended one whose memory the host cannot read, and CUDA or its emulation.
func everywhere(t *testing.T, f func(t *testing.T, open func() *kernels.Backend)) {
	t.Run("backend", func(t *testing.T) {
		f(t, func() *kernels.Backend {
			return backends.Open(t, func(a memory.Allocator) memory.Allocator { return a })
		})
	})
	t.Run("remote", func(t *testing.T) { f(t, remote) })
	t.Run("cuda", func(t *testing.T) {
		if open, most := gpus(t); most > 0 {
			f(t, open)
		}
	})
}

// ending is one rank of a trial in which something ends.
type ending struct {
	d *Comm
	c *collective.Comm
}

// endings runs f on every rank over these ends and gives their errors; then nothing of the
// staging memory may be out.
func endings(t *testing.T, ends []transport.Endpoint, open func() *kernels.Backend, f func(e ending) error) []error {
	t.Helper()
	errs := make([]error, len(ends))
	var all sync.WaitGroup
	for r, end := range ends {
		b := open()
		pinned := memory.NewTraced(b.Device.Pinned())
		c, err := collective.New(end, collective.Options{Deadline: limit})
		if err != nil {
			t.Fatal(err)
		}
		d, err := New(c, b)
		if err != nil {
			t.Fatal(err)
		}
		d.from = pinned
		all.Go(func() { errs[r] = f(ending{d, c}) })
		defer func() {
			_ = d.Close() // says again what ended the stream
			_ = c.Close()
			if err := pinned.Check(); err != nil {
				t.Errorf("rank %d leaves staging memory: %v", r, err)
			}
			if err := b.Close(); err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
		}()
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatal("the ranks hang")
	}
	return errs
}

// agreed holds the errors of ranks against each other: one Fault of that cause.
func agreed(t *testing.T, errs []error, survivors []int, cause collective.Cause, ranks ...int) {
	t.Helper()
	var first *collective.Fault
	for _, r := range survivors {
		var f *collective.Fault
		if !errors.As(errs[r], &f) || f.Cause != cause || !slices.Equal(f.Ranks, ranks) || first != nil && f.Error() != first.Error() {
			t.Errorf("rank %d: %v; want ranks %v %s, as all have it (%v)", r, errs[r], ranks, cause, first)
		}
		first = f
	}
}

// A rank dies at some message of the operations that all have started: the survivors' are
// done or end with one Fault, also those that were waiting for their turn, and give the
// staging memory back.
func TestDeathOfAsync(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *kernels.Backend) {
		for _, at := range []int64{0, 1, 3} {
			ends, in := faultinject.Wrap(inproc.New(3), faultinject.Event{Rank: 2, N: at, Kind: faultinject.Kill})
			defer in.Thaw()
			errs := endings(t, ends, open, func(e ending) error {
				ctx := context.Background()
				v, err := put(e.d, values[float32](e.c.Rank(), 6000))
				if err != nil {
					return err
				}
				whole, err := put(e.d, make([]float32, 6000))
				if err != nil {
					return err
				}
				part := v
				part.Len = 1000 * int64(1+e.c.Rank())
				counts := []int64{1000, 2000, 3000}
				handles := []*Handle{
					e.d.AllReduceAsync(ctx, v, v, collective.Sum), e.d.AllGatherVAsync(ctx, part, whole, counts),
					e.d.AllReduceAsync(ctx, v, v, collective.Max), e.d.ScatterVAsync(ctx, whole, part, counts, 1), e.d.BarrierAsync(ctx)}
				v.Buffer.Release() // the operations have it
				whole.Buffer.Release()
				var first error
				for i, h := range handles {
					if err := h.Wait(ctx); err != nil && first == nil {
						first = err
					} else if first != nil && (err == nil || err.Error() != first.Error()) {
						return fmt.Errorf("operation %d ends with %w, one before with %w", i, err, first)
					}
				}
				return first
			})
			agreed(t, errs, []int{0, 1}, collective.Lost, 2)
			if errs[2] == nil {
				t.Error("the rank that died has no error")
			}
		}
	})
}

// The context of an operation ends while it waits for a rank, or for its turn: then it is
// over for all. That of a Wait is that Wait's alone.
func TestCanceledAsync(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *kernels.Backend) {
		for _, queued := range []bool{false, true} {
			ready := make(chan struct{})
			errs := endings(t, inproc.New(3), open, func(e ending) error {
				v, err := put(e.d, make([]int32, 900))
				if err != nil {
					return err
				}
				defer v.Buffer.Release()
				if e.c.Rank() == 2 { // never joins; it has the Fault when the others do
					<-ready
					return e.d.Barrier(context.Background())
				}
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				own := errors.New("enough")
				first, second := ctx, context.Background()
				if queued {
					first, second = second, first
				}
				a, b := e.d.AllReduceAsync(first, v, v, collective.Sum), e.d.AllReduceAsync(second, v, v, collective.Sum)
				ended, end := context.WithTimeout(context.Background(), 10*time.Millisecond)
				defer end()
				if err := b.Wait(ended); !errors.Is(err, device.ErrCanceled) || !errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("Wait under a context that ended: %w", err)
				}
				if e.c.Rank() == 1 {
					cancel(own)
				}
				one, other := a.Wait(context.Background()), b.Wait(context.Background())
				if queued {
					one, other = other, one
				}
				if e.c.Rank() == 1 {
					close(ready)
					if !errors.Is(one, own) || !errors.Is(one, device.ErrCanceled) {
						return fmt.Errorf("the rank that canceled gets %w", one)
					}
				}
				if one == nil || other == nil {
					return errors.New("an operation is done that a rank has not joined")
				}
				return one
			})
			agreed(t, errs, []int{0, 1, 2}, collective.Canceled, 1)
		}
	})
}

// Who closes the device's Comm with operations under way ends them; later calls are refused,
// and a Comm without such operations closes without a word.
func TestClosed(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *kernels.Backend) {
		closed := func(d *Comm, v Vector) error {
			ctx, none := context.Background(), []int64{v.Len, 0}
			for i, err := range []error{d.AllReduce(ctx, v, v, collective.Sum), d.AllReduceAsync(ctx, v, v, collective.Sum).Wait(ctx), d.Barrier(ctx), d.UseNCCL(ctx),
				d.AllGatherV(ctx, v, v, none[:d.c.Size()]), d.Close()} {
				if i < 4 && !errors.Is(err, device.ErrClosed) || i == 5 && err != nil {
					return fmt.Errorf("call %d on a closed Comm: %w", i, err)
				}
			}
			return nil
		}
		errs := endings(t, inproc.New(2), open, func(e ending) error {
			v, err := put(e.d, make([]int32, 900))
			if err != nil {
				return err
			}
			defer v.Buffer.Release()
			h := e.d.AllReduceAsync(context.Background(), v, v, collective.Sum)
			if err := h.Wait(context.Background()); err != nil {
				return err
			}
			if e.c.Rank() == 1 {
				return e.d.AllReduceAsync(context.Background(), v, v, collective.Sum).Wait(context.Background())
			}
			// It waits for a message that never comes.
			h = e.d.RecvAsync(context.Background(), v, 1)
			if err := e.d.Close(); err != nil {
				return err
			}
			if err := h.Wait(context.Background()); !errors.Is(err, device.ErrClosed) {
				return fmt.Errorf("an operation of a Comm that is closed: %w", err)
			}
			return closed(e.d, v)
		})
		agreed(t, errs, []int{1}, collective.Left, 0)
		if errs[0] != nil {
			t.Error(errs[0])
		}
		for r, err := range endings(t, inproc.New(2), open, func(e ending) error {
			v, err := put(e.d, make([]int32, 900))
			if err != nil {
				return err
			}
			defer v.Buffer.Release()
			if err := e.d.AllReduceAsync(context.Background(), v, v, collective.Sum).Wait(context.Background()); err != nil {
				return err
			}
			if err := errors.Join(e.d.Close(), closed(e.d, v)); err != nil {
				return err
			}
			return e.c.Barrier(context.Background())
		}) {
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
		}
	})
}

// Arguments that are wrong on a rank are refused before anything is sent: the Comm goes on.
func TestRefusesCounts(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *kernels.Backend) {
		on(t, 2, open, func(d *Comm, c *collective.Comm) error {
			ctx := context.Background()
			v, err := put(d, make([]int64, 4))
			if err != nil {
				return err
			}
			defer v.Buffer.Release()
			other := memory.CUDA
			if d.b.Device.Place().Type == other {
				other = memory.OpenCL
			}
			elsewhere := memory.WrapBlock(memory.Place{Type: other, ID: 3}, memory.Block{Handle: 64, Size: 64}, func() {})
			defer elsewhere.Release()
			foreign := Vector{Buffer: elsewhere, Type: collective.Int64, Len: 4}
			two, short, narrow := v, v, v
			two.Len, short.Len, narrow.Type = 2, 3, collective.Int32
			me := c.Rank()
			huge := int64(1) << 62
			g := d.Group()
			g.AllGather(v, v)
			g.AllReduce(v, v, collective.Sum)
			lone := d.Group()
			lone.Send(v, me)
			for i, err := range []error{
				d.AllGatherV(ctx, two, v, []int64{2}), d.AllGatherV(ctx, two, v, nil), d.AllGatherV(ctx, two, v, []int64{2, 2, 0}),
				d.AllGatherV(ctx, two, v, []int64{2, 3}), d.AllGatherV(ctx, short, v, []int64{2, 2}), d.AllGatherV(ctx, v, v, []int64{4, -4}),
				d.AllGatherV(ctx, two, v, []int64{2 + huge, 2 + huge}), d.AllGatherV(ctx, two, narrow, []int64{2, 2}), d.AllGatherV(ctx, foreign, v, []int64{2, 2}),
				d.GatherV(ctx, two, short, []int64{2, 2}, me), d.GatherV(ctx, two, v, []int64{2, 2}, 2), d.GatherV(ctx, short, v, []int64{2, 2}, 1-me),
				d.ScatterV(ctx, short, two, []int64{2, 2}, me), d.ScatterV(ctx, v, two, []int64{2, 2}, -1), d.ScatterV(ctx, v, short, []int64{2, 2}, 1-me),
				d.AllToAllV(ctx, v, v, []int64{2, 2}, nil), d.AllToAllV(ctx, v, v, nil, []int64{2, 2}), d.AllToAllV(ctx, v, v, []int64{2, 2}, []int64{5, -1}),
				d.AllToAllV(ctx, v, v, []int64{2, 1}, []int64{2, 2}), d.AllToAllV(ctx, v, foreign, []int64{2, 2}, []int64{2, 2}),
				d.ReduceScatterV(ctx, v, short, []int64{2, 2}, collective.Sum), d.AllReduce(ctx, foreign, v, collective.Sum),
				d.Send(ctx, v, me), d.Recv(ctx, v, 2), d.SendAsync(ctx, Vector{}, 1-me).Wait(ctx), d.AllToAllVAsync(ctx, v, v, nil, nil).Wait(ctx),
				g.Run(ctx), lone.Start(ctx).Wait(ctx),
			} {
				if !errors.Is(err, device.ErrMismatch) {
					return fmt.Errorf("wrong call %d: %w", i, err)
				}
			}
			var f *collective.Fault
			if errors.As(d.AllReduce(ctx, v, v, collective.Sum), &f) {
				return fmt.Errorf("the Comm does not go on: %w", f)
			}
			return nil
		})
	})
}

// Ranks whose counts differ are told so, all of them alike.
func TestCountsDiffer(t *testing.T) {
	everywhere(t, func(t *testing.T, open func() *kernels.Backend) {
		errs := endings(t, inproc.New(2), open, func(e ending) error {
			v, err := put(e.d, make([]int64, 4))
			if err != nil {
				return err
			}
			defer v.Buffer.Release()
			whole, err := put(e.d, make([]int64, 8))
			if err != nil {
				return err
			}
			defer whole.Buffer.Release()
			counts := []int64{4, 4}
			if e.c.Rank() == 1 {
				counts[0], whole.Len = 3, 7
			}
			return e.d.AllGatherV(context.Background(), v, whole, counts)
		})
		agreed(t, errs, []int{0, 1}, collective.Mismatch, 0, 1)
	})
}

// A device without staging memory ends the operation on all ranks.
func TestNoStagingMemory(t *testing.T) {
	errs := endings(t, inproc.New(2), remote, func(e ending) error {
		v, err := put(e.d, make([]int64, 4))
		if err != nil {
			return err
		}
		defer v.Buffer.Release()
		if e.c.Rank() == 1 {
			e.d.from = none{e.d.from}
		}
		return e.d.AllToAllVAsync(context.Background(), v, v, []int64{2, 2}, []int64{2, 2}).Wait(context.Background())
	})
	agreed(t, errs, []int{0, 1}, collective.Canceled, 1)
	if !errors.Is(errs[1], device.ErrOutOfMemory) || !strings.Contains(errs[0].Error(), "device of rank 1") {
		t.Errorf("%v; and %v", errs[0], errs[1])
	}
}

// none has no memory to give.
type none struct{ memory.Allocator }

func (n none) Allocate(size int64) (memory.Block, error) {
	return memory.Block{}, &memory.OutOfMemory{Place: n.Place(), Requested: size}
}
