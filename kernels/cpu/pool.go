package cpu

import (
	"context"
	"runtime/debug"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
)

// morsel is the rows that a worker takes at a time: about a millisecond of the
// slowest kernels, and a multiple of 64 so that workers never share a byte of
// a bitmap.
const morsel = 1 << 16

// bitMorsel is morsel where a loop reads and writes only bits: of 64 KiB of a column,
// since to deal 8 KiB takes a quarter of what they take.
const bitMorsel = 8 * morsel

// pastCaches is from how many bytes of a column on the result of going over it is
// stored past the caches, where its loop can: little of it would be there when it
// is read, and each line would be fetched before it is written. Smaller ones stay
// for the next step.
const pastCaches = 32 << 20

// workers is how many goroutines a parallel loop runs in now: the program may
// change it at any time, also while a kernel runs.
func workers() int { return processors.Count() }

// span is a run of rows, and its number among the morsels of the loop.
type span struct {
	from, to int64
	index    int
}

// morsels is the number of spans that parallel cuts n rows into.
func morsels(n int64) int { return int((n + morsel - 1) / morsel) }

// parallel runs f over [0, n) in morsels, in any order and on several workers;
// worker numbers, from 0 on, let f keep scratch. It stops at the first
// error, when ctx ends, and when f panics, which becomes an error. On a machine
// whose memory lies at several nodes the workers of each begin with a part of
// the rows of its own.
func parallel(ctx context.Context, n int64, f func(worker int, s span) error) error {
	return parallelBy(ctx, morsel, n, f)
}

// parallelBy is parallel with morsels of another number of rows, a multiple of 64.
func parallelBy(ctx context.Context, rows, n int64, f func(worker int, s span) error) error {
	count, workers := int((n+rows-1)/rows), workers()
	return each(ctx, count, workers, handOut(count, workers), false, func(worker, i int) error {
		from := int64(i) * rows
		return f(worker, span{from, min(from+rows, n), i})
	})
}

// inOrder is parallel with morsels begun in order, so that one may wait for those
// before it.
func inOrder(ctx context.Context, n int64, f func(worker int, s span) error) error {
	return tasks(ctx, morsels(n), func(worker, i int) error { return f(worker, morselOf(i, n)) })
}

func morselOf(i int, n int64) span {
	from := int64(i) * morsel
	return span{from, min(from+morsel, n), i}
}

// tasks runs f for each of n task numbers as parallel does for morsels, begun in
// order.
func tasks(ctx context.Context, n int, f func(worker, task int) error) error {
	return each(ctx, n, workers(), &queue{}, false, f)
}

// dealer gives tasks to workers.
type dealer interface {
	// begin says that a worker begins, and is called on its goroutine, as is end
	// when it ends.
	begin(worker int) (end func())
	// take is a worker's next of n tasks; n or more when there is none left.
	take(worker, n int) int
}

// queue deals tasks in order.
type queue struct{ next atomic.Int64 }

func (*queue) begin(int) (end func()) { return func() {} }
func (q *queue) take(int, int) int    { return int(q.next.Add(1) - 1) }

// each runs f for the tasks that d deals to some workers, which look for one
// another before they sleep if looks is true, see [linger].
func each(ctx context.Context, n, workers int, d dealer, looks bool, f func(worker, task int) error) error {
	if n == 0 {
		return device.Canceled(ctx, "cpu", "")
	}
	var first failure
	work := func(worker int) {
		defer d.begin(worker)()
		defer func() {
			if p := recover(); p != nil {
				first.is(device.Errorf(nil, "cpu", "", "internal error: %v\n%s", p, debug.Stack()))
			}
		}()
		for first.err() == nil {
			i := d.take(worker, n)
			if i >= n {
				return
			}
			err := device.Canceled(ctx, "cpu", "")
			if err == nil {
				err = f(worker, i)
			}
			if err != nil {
				first.is(err)
				return
			}
		}
	}
	var others crew
	others.begin(looks)
	for w := 1; w < min(workers, n); w++ {
		help(&job{&others, func() { work(w) }})
	}
	work(0)
	others.wait()
	return first.err()
}

// detour is an error after which a call goes another way. It gives way to what else a
// worker failed of: want of memory may not pass for a call that goes another way.
type detour string

func (d detour) Error() string { return string(d) }

// failure is the first error of several workers that is no detour, or else the first.
type failure struct{ first atomic.Pointer[error] }

func (f *failure) err() error {
	if p := f.first.Load(); p != nil {
		return *p
	}
	return nil
}

func (f *failure) is(err error) {
	for {
		old := f.first.Load()
		if old != nil {
			if _, ok := (*old).(detour); !ok {
				return
			}
			if _, ok := err.(detour); ok {
				return
			}
		}
		if f.first.CompareAndSwap(old, &err) {
			return
		}
	}
}
