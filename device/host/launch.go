package host

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/memory"
)

func (s *stream) Launch(f device.Function, grid device.Grid, args ...any) error {
	fn, ok := f.(*function)
	if !ok || fn == nil {
		return mismatch("launch", "a function (%T) that is not the host's", f)
	}
	if fn.module.device != s.device {
		return mismatch(fn.name, "the function was loaded for another host device")
	}
	if err := fn.module.alive(fn.name); err != nil {
		return err
	}
	groups, err := count(fn.name, &grid)
	if err != nil {
		return err
	}
	args = slices.Clone(args)
	hold(args)
	return s.give(op{
		call:  fn.name,
		run:   func() error { return launch(s.device.ctx, fn, grid, groups, args) },
		after: func() { drop(args) },
	})
}

// count makes the dimensions of 0 in grid 1 and gives the number of groups.
func count(call string, grid *device.Grid) (int64, error) {
	n := uint64(1)
	for i := range grid.Groups {
		if grid.Groups[i] < 0 || grid.Items[i] < 0 || grid.Local < 0 {
			return 0, mismatch(call, "a grid of %v groups of %v items with %d bytes", grid.Groups, grid.Items, grid.Local)
		}
		grid.Groups[i] = max(1, grid.Groups[i])
		grid.Items[i] = max(1, grid.Items[i])
		high, low := bits.Mul64(n, uint64(grid.Groups[i]))
		if high != 0 || low > 1<<62 {
			return 0, mismatch(call, "a grid of %v groups", grid.Groups)
		}
		n = low
	}
	return int64(n), nil
}

// hold keeps the buffers and columns among the arguments of a launch alive.
func hold(args []any) {
	for _, a := range args {
		switch a := a.(type) {
		case *memory.Buffer:
			a.Retain()
		case device.Base:
			a.Buffer.Retain()
		case *memory.Column:
			a.Retain()
		}
	}
}

// drop undoes hold.
func drop(args []any) {
	for _, a := range args {
		switch a := a.(type) {
		case *memory.Buffer:
			a.Release()
		case device.Base:
			a.Buffer.Release()
		case *memory.Column:
			a.Release()
		}
	}
}

// launch runs all groups of a grid on as many goroutines as GOMAXPROCS lets
// run at once. The first error ends the context of the others.
func launch(ctx context.Context, f *function, grid device.Grid, groups int64, args []any) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var wait sync.WaitGroup
	work := func() {
		for ctx.Err() == nil {
			i := next.Add(1) - 1
			if i >= groups {
				return
			}
			g := device.Group{Grid: grid}
			g.ID[0] = i % grid.Groups[0]
			g.ID[1] = i / grid.Groups[0] % grid.Groups[1]
			g.ID[2] = i / grid.Groups[0] / grid.Groups[1]
			runGroup(ctx, stop, f, g, args)
		}
	}
	for w := int64(1); w < min(int64(processors.Count()), groups); w++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			work()
		}()
	}
	func() {
		defer wait.Wait() // also when a group ends this goroutine
		work()
	}()
	return failed(ctx)
}

// groupError marks the failure of a group among the causes of a context.
type groupError struct {
	id  [3]int64
	err error
}

func (e *groupError) Error() string { return fmt.Sprintf("group %v: %v", e.id, e.err) }
func (e *groupError) Unwrap() error { return e.err }

// failed tells how a launch ended: by a group's failure, by the end of the
// device's context, or well.
func failed(ctx context.Context) error {
	cause := context.Cause(ctx)
	if own, ok := cause.(*groupError); ok {
		return own
	}
	if cause != nil {
		return &device.Error{Device: name, Kind: device.ErrCanceled, Cause: cause}
	}
	return nil
}

// runGroup runs one group. Its error, a panic, or the end of its goroutine
// stops the launch.
func runGroup(ctx context.Context, stop context.CancelCauseFunc, f *function, g device.Group, args []any) {
	err := errors.New("the function ended its goroutine")
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			stop(&groupError{g.ID, err})
		}
	}()
	err = f.run(ctx, g, args)
}
