package columns

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/memory"
)

// What is started gives what the calls give, in order, keeps the columns that it was given,
// and is released by Discard.
func TestAsync(t *testing.T) {
	for r, err := range on(t, func() device.Device { return host.New() }, func(c *Comm, dev device.Device, s device.Stream) error {
		ctx, rank := context.Background(), c.c.Rank()
		own := sample(t, uint64(rank), 20, 3)
		var lists [][]*memory.Column
		for to := range ranks {
			lists = append(lists, sample(t, uint64(10*rank+to), 15, 1))
		}
		gather, atRoot := c.AllGatherAsync(ctx, types, own), c.GatherAsync(ctx, types, own, 2)
		swap, scattered := c.AllToAllAsync(ctx, types, lists), c.ScatterAsync(ctx, types, lists, 0)
		told, unwanted := c.BroadcastAsync(ctx, types, own, 1), c.AllGatherAsync(ctx, types, own)
		Release(own)
		for _, l := range lists {
			Release(l)
		}
		clear(own)
		unwanted.Discard()
		compare := func(what string, got []*memory.Column, seed uint64, rows, offset int) error {
			want := sample(t, seed, rows, offset)
			defer Release(want)
			for i := range want {
				if err := same(dev, s, got[i], want[i]); err != nil {
					return fmt.Errorf("%s: %w", what, err)
				}
			}
			return nil
		}
		all, err := gather.Wait(ctx)
		if err != nil {
			return err
		}
		some, err := atRoot.Wait(ctx)
		if err != nil || (some != nil) != (rank == 2) {
			return fmt.Errorf("GatherAsync gives %v, %w", some, err)
		}
		swapped, err := swap.Wait(ctx)
		if err != nil {
			return err
		}
		for from := range ranks {
			if err := compare("AllGather", all[from], uint64(from), 20, 3); err != nil {
				return err
			}
			if err := compare("AllToAll", swapped[from], uint64(10*from+rank), 15, 1); err != nil {
				return err
			}
			if some != nil {
				if err := compare("Gather", some[from], uint64(from), 20, 3); err != nil {
					return err
				}
			}
		}
		mine, err := scattered.Wait(ctx)
		if err != nil {
			return err
		}
		root, err := told.Wait(ctx)
		if err != nil {
			return err
		}
		if err := errors.Join(compare("Scatter", mine, uint64(rank), 15, 1), compare("Broadcast", root, 1, 20, 3)); err != nil {
			return err
		}
		<-told.Done()
		for _, h := range []*Handle[[][]*memory.Column]{gather, atRoot, swap} {
			h.Discard()
		}
		scattered.Discard()
		told.Discard()
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// A rank cancels while calls are under way: all of them end, on all ranks, with its Fault,
// and what was staged is given back.
func TestAsyncCanceled(t *testing.T) {
	var devices [ranks]*devicetest.Remote
	opened := make(chan int, ranks)
	for i := range ranks {
		devices[i] = devicetest.NewRemote(memory.Place{Type: memory.OpenCL})
		opened <- i
	}
	errs := on(t, func() device.Device { return devices[<-opened] }, func(c *Comm, dev device.Device, s device.Stream) error {
		near := sample(t, 1, 50, 0)
		defer Release(near)
		cols, err := place(dev, s, near)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		a, b := c.AllGatherAsync(context.Background(), types, cols), c.BroadcastAsync(context.Background(), types, cols, 0)
		Release(cols)
		a.Discard()
		b.Discard()
		if c.c.Rank() == 2 { // before its third call, for which the others wait
			cancel(errors.New("enough"))
		}
		third := c.AllGatherAsync(ctx, types[:1], nil)
		h := c.AllToAllAsync(context.Background(), types[:1], make([][]*memory.Column, ranks))
		_, err = third.Wait(context.Background())
		if _, after := h.Wait(context.Background()); err == nil || after == nil {
			return errors.New("a call is done that a rank has canceled")
		}
		return err
	})
	for r, err := range errs {
		var f *collective.Fault
		if !errors.As(err, &f) || f.Cause != collective.Canceled || f.By != 2 {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	for r, d := range devices {
		if d.InUse() != 0 {
			t.Errorf("device %d still has %d bytes in use", r, d.InUse())
		}
	}
}

// A Comm that is closed takes no more calls, and ends those that are under way.
func TestAsyncClosed(t *testing.T) {
	errs := on(t, func() device.Device { return host.New() }, func(c *Comm, _ device.Device, _ device.Stream) error {
		ctx := context.Background()
		cols := sample(t, 1, 5, 0)
		defer Release(cols)
		if c.c.Rank() == 0 {
			h := c.AllGatherAsync(ctx, types, cols)
			if _, err := c.ScatterAsync(ctx, types, nil, 0).Wait(ctx); !errors.Is(err, device.ErrMismatch) {
				return fmt.Errorf("no lists: %w", err)
			}
			if err := errors.Join(c.Close(), c.Close()); err != nil {
				return err
			}
			if _, err := h.Wait(ctx); !errors.Is(err, device.ErrClosed) {
				return fmt.Errorf("a call under way: %w", err)
			}
			if _, err := c.AllGather(ctx, types, cols); !errors.Is(err, device.ErrClosed) {
				return fmt.Errorf("a call after: %w", err)
			}
			_, err := c.AllGatherAsync(ctx, types, cols).Wait(ctx)
			return err
		}
		for c.c.Fault() == nil {
			time.Sleep(time.Millisecond)
		}
		_, err := c.AllGather(ctx, types, cols)
		return err
	})
	var f *collective.Fault
	for r, err := range errs {
		if r == 0 && !errors.Is(err, device.ErrClosed) || r != 0 && (!errors.As(err, &f) || f.Cause != collective.Left) {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}
