package exec

import (
	"context"

	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/profile"
)

// chain is the operators' states of one worker.
type chain struct {
	ops    []Operator
	states []State
	hooks  *Hooks
	record *Record        // nil where nothing is measured
	track  *profile.Track // of the worker
}

// begin makes the states of a worker. The chain is to be closed also where that
// fails.
func begin(ctx context.Context, ops []Operator, record *Record, track *profile.Track) (*chain, error) {
	c := &chain{ops: ops, hooks: hooksOf(ctx), record: record, track: track}
	for _, o := range ops {
		s, err := o.Begin(ctx)
		if err != nil {
			return c, err
		}
		c.states = append(c.states, s)
	}
	return c, nil
}

// execute carries a batch, which it takes over, through the states from one on. Batches without
// rows go no further.
func (c *chain) execute(ctx context.Context, at int, b *flow.Batch, emit func(*flow.Batch) error) error {
	if c.record != nil {
		return c.measured(ctx, at, b, b.Size(), emit)
	}
	return c.from(ctx, at, b, emit)
}

func (c *chain) from(ctx context.Context, at int, b *flow.Batch, emit func(*flow.Batch) error) error {
	if b.Len() == 0 {
		b.Release()
		return nil
	}
	if at == len(c.states) {
		return emit(b)
	}
	if err := c.check(at, b); err != nil {
		return err
	}
	return c.states[at].Execute(ctx, b, func(out *flow.Batch) error { return c.from(ctx, at+1, out, emit) })
}

// check has the hooks look at a batch before a step.
func (c *chain) check(at int, b *flow.Batch) error {
	if c.hooks == nil {
		return nil
	}
	err := c.hooks.check(c.ops[at], b)
	if err != nil {
		b.Release()
	}
	return err
}

// close closes the states. On nil it does nothing.
func (c *chain) close() {
	if c == nil {
		return
	}
	for _, s := range c.states {
		s.Close()
	}
}
