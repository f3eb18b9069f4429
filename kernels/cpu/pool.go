package cpu

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
)

// morsel is the rows that a worker takes at a time: about a millisecond of the
// slowest kernels, and a multiple of 64 so that workers never share a byte of
// a bitmap.
const morsel = 1 << 16

// workers is how many goroutines a parallel loop runs in now: the program may
// change it at any time, also while a kernel runs.
func workers() int { return runtime.GOMAXPROCS(0) }

// span is a run of rows, and its number among the morsels of the loop.
type span struct {
	from, to int64
	index    int
}

// morsels is the number of spans that parallel cuts n rows into.
func morsels(n int64) int { return int((n + morsel - 1) / morsel) }

// parallel runs f over [0, n) in morsels, in any order and on several workers;
// worker numbers, from 0 on, let f keep scratch. It stops at the first
// error, when ctx ends, and when f panics, which becomes an error.
func parallel(ctx context.Context, n int64, f func(worker int, s span) error) error {
	return tasks(ctx, morsels(n), func(worker, i int) error {
		from := int64(i) * morsel
		return f(worker, span{from, min(from+morsel, n), i})
	})
}

// tasks runs f for each of n task numbers as parallel does for morsels.
func tasks(ctx context.Context, n int, f func(worker, task int) error) error {
	if n == 0 {
		return device.Canceled(ctx, "cpu", "")
	}
	var next atomic.Int64
	var first atomic.Pointer[error]
	work := func(worker int) {
		defer func() {
			if p := recover(); p != nil {
				err := error(device.Errorf(nil, "cpu", "", "internal error: %v\n%s", p, debug.Stack()))
				first.CompareAndSwap(nil, &err)
			}
		}()
		for first.Load() == nil {
			i := next.Add(1) - 1
			if i >= int64(n) {
				return
			}
			err := device.Canceled(ctx, "cpu", "")
			if err == nil {
				err = f(worker, int(i))
			}
			if err != nil {
				first.CompareAndSwap(nil, &err)
				return
			}
		}
	}
	var group sync.WaitGroup
	for w := 1; w < min(workers(), n); w++ {
		group.Add(1)
		go func() {
			defer group.Done()
			work(w)
		}()
	}
	work(0)
	group.Wait()
	if err := first.Load(); err != nil {
		return *err
	}
	return nil
}
