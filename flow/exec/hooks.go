package exec

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/flow"
)

// Hooks let a test kit stand between the parts of all pipelines that run with a context. Any
// of them may be nil.
type Hooks struct {
	// Workers, if not 0, is how many workers a pipeline has that may have several, of however few
	// rows.
	Workers int
	// Turn comes before a worker takes a morsel, and before it hands on what came of one. It
	// returns when the worker may.
	Turn func(ctx context.Context)
	// Check looks at each batch before a step, of which it gets the operator or the sink; nil is
	// the consumer. Its error is that of the step.
	Check func(step any, b *flow.Batch) error
	// State looks at each state that a worker made or that was merged, and gives the one to go on
	// with, also beside an error.
	State func(ctx context.Context, s Sink, made SinkState) (SinkState, error)
}

type hooksKey struct{}

// WithHooks is a context whose pipelines have hooks.
func WithHooks(ctx context.Context, h *Hooks) context.Context {
	return context.WithValue(ctx, hooksKey{}, h)
}

func hooksOf(ctx context.Context) *Hooks {
	h, _ := ctx.Value(hooksKey{}).(*Hooks)
	return h
}

func (h *Hooks) turn(ctx context.Context) {
	if h != nil && h.Turn != nil {
		h.Turn(ctx)
	}
}

func (h *Hooks) check(step any, b *flow.Batch) error {
	if h == nil || h.Check == nil {
		return nil
	}
	if err := h.Check(step, b); err != nil {
		return fmt.Errorf("before %T: %w", step, err)
	}
	return nil
}

func (h *Hooks) reread(ctx context.Context, s Sink, made SinkState) (SinkState, error) {
	if h == nil || h.State == nil {
		return made, nil
	}
	return h.State(ctx, s, made)
}
