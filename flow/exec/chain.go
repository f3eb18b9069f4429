package exec

import (
	"context"

	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/profile"
)

// chain is the operators' states of one worker.
type chain struct {
	states []State
	record *Record        // nil where nothing is measured
	track  *profile.Track // of the worker
}

// begin makes the states of a worker. The chain is to be closed also where that
// fails.
func begin(ctx context.Context, ops []Operator, record *Record, track *profile.Track) (*chain, error) {
	c := &chain{record: record, track: track}
	for _, o := range ops {
		s, err := o.Begin(ctx)
		if err != nil {
			return c, err
		}
		c.states = append(c.states, s)
	}
	return c, nil
}

// execute carries a batch, which it takes over, through all states. Batches without
// rows go no further.
func (c *chain) execute(ctx context.Context, b *flow.Batch, emit func(*flow.Batch) error) error {
	if c.record != nil {
		return c.measured(ctx, 0, b, b.Size(), emit)
	}
	return c.from(ctx, 0, b, emit)
}

func (c *chain) from(ctx context.Context, at int, b *flow.Batch, emit func(*flow.Batch) error) error {
	if b.Len() == 0 {
		b.Release()
		return nil
	}
	if at == len(c.states) {
		return emit(b)
	}
	return c.states[at].Execute(ctx, b, func(out *flow.Batch) error { return c.from(ctx, at+1, out, emit) })
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
