package nccl

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/memory"
)

// Comm is one rank's part of a communicator. One call at a time.
type Comm struct {
	driver     *driver
	device     *cuda.Device
	rank, size int
	event      device.Event // for Wait

	ended atomic.Pointer[device.Error] // why no more calls are taken
	end   sync.Once
	gone  chan struct{}  // closed when the library has let the communicator go
	keep  *memory.Buffer // which keeps the GPU's context until then, also when the device is closed

	mu   sync.Mutex // the library's functions are called one at a time
	cell *handle    // what the library writes, also later than in the call
}

// Join makes this rank's part of the communicator that the ID names. All ranks call
// it, each with a GPU of its own; it returns when all have, or when ctx ends.
func (l *Library) Join(ctx context.Context, d *cuda.Device, id ID, rank, size int) (*Comm, error) {
	const call = "ncclCommInitRankConfig"
	if size < 1 || rank < 0 || rank >= size {
		return nil, device.Errorf(device.ErrMismatch, d.Name(), call, "rank %d of %d", rank, size)
	}
	event, err := d.NewEvent()
	if err != nil {
		return nil, err
	}
	c := &Comm{driver: l.driver, device: d, rank: rank, size: size, event: event, gone: make(chan struct{}), cell: new(handle)}
	if c.keep, err = memory.New(d.Memory(), 1); err != nil {
		return nil, errors.Join(err, event.Close())
	}
	begun := make(chan error, 1)
	go func() { // the library meets the ID's maker before it returns
		c.mu.Lock()
		defer c.mu.Unlock()
		begun <- d.Current(call, func() error { return c.settle(ctx, call, l.driver.begin(c.cell, size, &id, rank)) })
	}()
	select {
	case err = <-begun:
	case <-ctx.Done():
		err = device.Canceled(ctx, d.Name(), call)
	}
	if err != nil {
		c.abort(err)
		return nil, err
	}
	return c, nil
}

// Rank is this rank's number, from 0.
func (c *Comm) Rank() int { return c.rank }

// Size is the number of ranks.
func (c *Comm) Size() int { return c.size }

// settle waits until what was begun is not in progress any more: connections are made
// in the first operation. mu is held.
func (c *Comm) settle(ctx context.Context, call string, r result) error {
	for pause := time.Duration(0); r == inProgress; pause = longer(pause) {
		if err := device.Canceled(ctx, c.device.Name(), call); err != nil {
			return err
		}
		if e := c.ended.Load(); e != nil {
			return e
		}
		time.Sleep(pause)
		state, asked := c.driver.state(*c.cell)
		if r = state; asked != success {
			r = asked
		}
	}
	return c.driver.failure(c.device.Name(), call, r)
}

// longer is the next pause between two looks.
func longer(pause time.Duration) time.Duration {
	return min(pause+pause/4+time.Microsecond, time.Millisecond)
}

// Wait waits until the work that was given to a stream is done. When ctx ends before,
// or the library tells of a failure, the communicator is aborted.
func (c *Comm) Wait(ctx context.Context, s device.Stream) error {
	const call = "wait for NCCL"
	if err := s.Record(c.event); err != nil {
		return c.failed(err)
	}
	for pause := time.Duration(0); ; pause = longer(pause) {
		if done, err := c.event.Done(); err != nil {
			return c.failed(err)
		} else if done {
			return nil
		}
		if err := device.Canceled(ctx, c.device.Name(), call); err != nil {
			return c.failed(err)
		}
		if err := c.look(call); err != nil {
			return c.failed(err)
		}
		time.Sleep(pause)
	}
}

// look asks the library whether the communicator has failed.
func (c *Comm) look(call string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.ended.Load(); e != nil {
		return e
	}
	state, r := c.driver.state(*c.cell)
	if r == success {
		r = state
	}
	return c.driver.failure(c.device.Name(), call, r)
}

func (c *Comm) failed(err error) error {
	c.abort(err)
	return err
}

// Abort gives the communicator up, with what its kernels wait for, in the background;
// Close waits for that.
func (c *Comm) Abort() { c.abort(nil) }

// abort ends the communicator's kernels and gives it up, on a goroutine.
func (c *Comm) abort(why error) {
	c.end.Do(func() {
		c.ended.Store(&device.Error{Device: c.device.Name(), Call: "NCCL", Kind: device.ErrClosed, Text: "the communicator was aborted", Cause: why})
		go func() {
			defer c.release()
			c.mu.Lock() // whoever settles sees ended
			defer c.mu.Unlock()
			if *c.cell == 0 {
				return
			}
			_ = c.device.Current("ncclCommAbort", func() error { // nothing more can be done about its failure
				_ = c.driver.abort(*c.cell)
				return nil
			})
		}()
	})
}

// release is when the library has let the communicator go.
func (c *Comm) release() {
	c.keep.Release()
	close(c.gone)
}

// Close gives the communicator back: in order where all ranks call it before ctx ends,
// else by aborting it, in the background. Closing twice is allowed.
func (c *Comm) Close(ctx context.Context) error {
	const call = "ncclCommFinalize"
	var err error
	c.end.Do(func() {
		c.ended.Store(device.Errorf(device.ErrClosed, c.device.Name(), "NCCL", "the communicator is closed"))
		done := make(chan error, 1)
		go func() {
			defer c.release()
			done <- c.finalize(ctx, call)
		}()
		select {
		case err = <-done:
		case <-ctx.Done():
			err = device.Canceled(ctx, c.device.Name(), call)
		}
	})
	if err != nil {
		return errors.Join(err, c.event.Close())
	}
	select {
	case <-c.gone:
		return c.event.Close()
	case <-ctx.Done():
		return device.Canceled(ctx, c.device.Name(), "close NCCL")
	}
}

// finalize waits for the other ranks and then destroys, or aborts.
func (c *Comm) finalize(ctx context.Context, call string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.device.Current(call, func() error {
		r := c.driver.finalize(*c.cell)
		for pause := time.Duration(0); r == inProgress && ctx.Err() == nil; pause = longer(pause) {
			time.Sleep(pause)
			if state, asked := c.driver.state(*c.cell); asked == success {
				r = state
			} else {
				r = asked
			}
		}
		if r != success {
			_ = c.driver.abort(*c.cell) // the reason is what is told
			if r == inProgress {
				return device.Canceled(ctx, c.device.Name(), call)
			}
			return c.driver.failure(c.device.Name(), call, r)
		}
		return c.driver.failure(c.device.Name(), "ncclCommDestroy", c.driver.destroy(*c.cell))
	})
}
