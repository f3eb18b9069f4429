package expr

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// run is the rows that are taken through all steps at a time where each step is a
// kernel's call: half a megabyte of float64, which a core's second-level cache
// holds. Shorter runs, of which the first level would hold a few columns, cost
// more processor time: a call is about two microseconds, in which a core computes
// 8000 rows. Programs, whose steps are no calls, cut rows into blocks of their
// own. It is a multiple of 64, so that no two runs share a byte of a bitmap.
// docs/performance/scans.md has the figures.
const run = 1 << 16

// inRuns reports whether the rows are worth cutting: there must be more than
// one step, and kernels that return when their work is done.
func (e *evaluation) inRuns(rows int64) bool {
	steps := 0
	for i, n := range e.bound.nodes {
		if n.kind != KindColumn && e.known[i] == nil {
			steps++
		}
	}
	return steps > 1 && rows > run && e.backend.Device.Place() == memory.Host
}

// runs computes all results run by run, on as many goroutines as there are
// cores, and puts the pieces together.
func (e *evaluation) runs(ctx context.Context, rows int64, columns []*memory.Column) (out []*memory.Column, err error) {
	count := (rows + run - 1) / run
	targets := make([]*assembly, len(e.bound.roots))
	defer func() {
		for _, t := range targets {
			t.release()
		}
	}()
	for i := range targets {
		if targets[i], err = newAssembly(e.backend, e.bound.TypeOf(i), rows, count); err != nil {
			return nil, err
		}
	}
	var next atomic.Int64
	var failed atomic.Pointer[error]
	work := func() {
		defer func() {
			if p := recover(); p != nil {
				err := error(device.Errorf(nil, e.backend.Device.Name(), "expression", "internal error: %v\n%s", p, debug.Stack()))
				failed.CompareAndSwap(nil, &err)
			}
		}()
		for failed.Load() == nil {
			r := next.Add(1) - 1
			if r >= count {
				return
			}
			if err := e.oneRun(ctx, r, min(run, rows-r*run), columns, targets); err != nil {
				failed.CompareAndSwap(nil, &err)
				return
			}
		}
	}
	var group sync.WaitGroup
	for range min(int64(processors.Count()), count) - 1 {
		group.Add(1)
		go func() {
			defer group.Done()
			work()
		}()
	}
	work()
	group.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	for _, t := range targets {
		c, err := t.finish(ctx, e.stream)
		if err != nil {
			for _, c := range out {
				c.Release()
			}
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// oneRun computes run r, of n rows.
func (e *evaluation) oneRun(ctx context.Context, r, n int64, columns []*memory.Column, targets []*assembly) error {
	if err := device.Canceled(ctx, e.backend.Device.Name(), "expression"); err != nil {
		return err
	}
	window := make([]*memory.Column, len(columns))
	defer func() {
		for _, c := range window {
			c.Release()
		}
	}()
	var err error
	for _, i := range e.bound.reads {
		if window[i], err = columns[i].Slice(r*run, n); err != nil {
			return err
		}
	}
	pieces, err := e.evalFused(ctx, n, window)
	if err != nil {
		return err
	}
	for i, p := range pieces {
		if e := targets[i].put(r, p); err == nil {
			err = e
		}
	}
	return err
}

// assembly is a result of which runs fill pieces, in any order.
type assembly struct {
	backend *kernels.Backend
	rows    int64
	width   int64 // bytes of a value; 0 for bits
	parts   memory.Parts
	pieces  []*memory.Column // where values have no fixed place
	values  *memory.Buffer
	once    sync.Once
	valid   *memory.Buffer
	err     error
	nulls   atomic.Int64
}
