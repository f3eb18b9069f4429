package exec_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/flow/flowtest"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// counting is a tailed operator that gives the batches that it let pass once more, in the order of their
// rows.
type counting struct {
	each
	lock sync.Mutex
	held []*flow.Batch
}

func newCounting() *counting {
	c := &counting{}
	c.f = func(_ context.Context, in *flow.Batch, emit func(*flow.Batch) error) error {
		c.lock.Lock()
		at := len(c.held)
		for at > 0 && rowOf(c.held[at-1]) > rowOf(in) {
			at--
		}
		c.held = append(c.held[:at], append([]*flow.Batch{in.Retain()}, c.held[at:]...)...)
		c.lock.Unlock()
		return emit(in)
	}
	return c
}

// rowOf is the number of a batch's first row.
func rowOf(b *flow.Batch) int64 { return memory.Values[int64](b.ColumnNamed("id"))[0] }

func (c *counting) Tails() bool { return true }
func (c *counting) Tail(context.Context) (exec.Source, error) {
	held := c.held
	c.held = nil
	return exec.Batches(held...), nil
}

func (c *counting) Close() {
	exec.ReleaseAll(c.held)
	c.each.Close()
}

// over is a pipeline, or what is made of sources, as a subject.
func over(name string, inputs int, make func(in []exec.Source) exec.Source) flowtest.Subject {
	return flowtest.Subject{Name: name, Inputs: inputs, Run: func(ctx context.Context, b *kernels.Backend, in []flow.Source, each func(*flow.Batch) error) error {
		var sources []exec.Source
		for _, s := range in {
			one, err := flowtest.Open(ctx, s, b)
			if err != nil {
				return errors.Join(err, flowtest.Drain(ctx, exec.Limit(exec.Concat(sources...), 0, 0), each))
			}
			sources = append(sources, one)
		}
		return flowtest.Drain(ctx, make(sources), each)
	}}
}

// TestKit has what pipelines are made of under the kit.
func TestKit(t *testing.T) {
	piped := func(in exec.Source, ops ...exec.Operator) *exec.Pipeline {
		return exec.New(in, ops, exec.Options{Workers: 2, Rows: 3, Device: "cpu"})
	}
	pass := func() exec.Operator {
		return &each{f: func(_ context.Context, in *flow.Batch, emit func(*flow.Batch) error) error { return emit(in) }}
	}
	flowtest.Run(t,
		over("pipeline", 1, func(in []exec.Source) exec.Source { return piped(in[0], pass(), &each{f: halves}) }),
		over("limit", 1, func(in []exec.Source) exec.Source { return piped(exec.Limit(piped(in[0], pass()), 2, 9)) }),
		over("concat", 2, func(in []exec.Source) exec.Source { return piped(exec.Concat(in...), pass()) }),
		over("keep", 1, func(in []exec.Source) exec.Source { return piped(exec.Sunk(piped(in[0], pass()), exec.Keep{}), pass()) }),
		over("tail", 1, func(in []exec.Source) exec.Source {
			return piped(in[0], newCounting(), pass(), newCounting(), &each{f: halves})
		}),
	)
}

// halves gives a morsel in two parts.
func halves(_ context.Context, in *flow.Batch, emit func(*flow.Batch) error) error {
	defer in.Release()
	half := in.Len() / 2
	for _, part := range [][2]int64{{0, half}, {half, in.Len() - half}} {
		b, err := in.Slice(part[0], part[1])
		if err != nil {
			return err
		}
		if err := emit(b); err != nil {
			return err
		}
	}
	return nil
}
