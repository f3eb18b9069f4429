package exec

import (
	"context"

	"github.com/volley-go/volley/flow"
)

// MorselRows is how many rows of a batch are a morsel. A kernel over so many runs
// on the goroutine that calls it, and a column of them fits a core's second-level
// cache. It is the length of an expression's runs, so that floats are added in
// the same shape whether a pipeline or a whole column is worked on.
const MorselRows = 1 << 16

// Source gives the batches that a pipeline cuts into morsels.
type Source interface {
	// Next is the next batch, a reference that belongs to the caller, or io.EOF
	// after the last. It is called by one goroutine at a time, and by none once
	// it has failed.
	Next(ctx context.Context) (*flow.Batch, error)
	// Close gives back what the source holds. It comes once, when no call of Next
	// is under way.
	Close()
}

// Operator is one step of a pipeline. It never changes while the pipeline runs.
type Operator interface {
	// Prepare comes once, before any Begin: for what all workers share. It may take
	// long.
	Prepare(ctx context.Context) error
	// Begin makes the state of one worker.
	Begin(ctx context.Context) (State, error)
	// Close gives back what Prepare made. It comes once, after the last state was
	// closed, also where Prepare failed or was not called.
	Close()
}

// Tailed is an operator that has rows of its own to give after the last morsel: those of the right
// side that no left row matched.
type Tailed interface {
	Operator
	// Tails reports whether there may be any.
	Tails() bool
	// Tail gives them. It comes once, when all states have executed what came before. The rows go
	// through the operators after this one.
	Tail(ctx context.Context) (Source, error)
}

// State is an operator at work for one worker. One goroutine uses it.
type State interface {
	// Execute makes of a morsel what comes after it, and hands each batch to emit,
	// which takes over the reference, also where it fails. Execute takes over
	// the reference to in. An error of emit is returned as it stands.
	Execute(ctx context.Context, in *flow.Batch, emit func(*flow.Batch) error) error
	// Close gives back what the state holds. It comes once.
	Close()
}
