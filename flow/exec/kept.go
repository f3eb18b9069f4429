package exec

import (
	"context"

	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/memory"
)

// Kept is a state that keeps batches as they are.
type Kept struct{ held []*flow.Batch }

// Update keeps a batch.
func (r *Kept) Update(_ context.Context, b *flow.Batch) error {
	r.held = append(r.held, b)
	return nil
}

// Merge keeps what another Kept kept behind what this one does.
func (r *Kept) Merge(_ context.Context, later SinkState) error {
	r.held = append(r.held, later.(*Kept).Take()...)
	return nil
}

// Take gives the batches to the caller, with their references, and keeps none.
func (r *Kept) Take() []*flow.Batch {
	held := r.held
	r.held = nil
	return held
}

// Rows is how many rows are kept.
func (r *Kept) Rows() int64 { return RowsOf(r.held) }

// Size is how many bytes they take.
func (r *Kept) Size() int64 { return SizeOf(r.held) }

// Write gives the batches.
func (r *Kept) Write(context.Context) ([]*flow.Batch, error) { return Retained(r.held), nil }

// Read keeps batches.
func (r *Kept) Read(_ context.Context, written []*flow.Batch) error {
	r.held = written
	return nil
}

// Close releases what is kept.
func (r *Kept) Close() { ReleaseAll(r.Take()) }

// RowsOf is how many rows batches have.
func RowsOf(batches []*flow.Batch) (n int64) {
	for _, b := range batches {
		n += b.Len()
	}
	return n
}

// SizeOf is how many bytes batches take, each dictionary counted once.
func SizeOf(batches []*flow.Batch) (n int64) {
	counted := map[*memory.Column]bool{}
	for _, b := range batches {
		for _, c := range b.Columns() {
			n += memory.Size(c, counted)
		}
	}
	return n
}

// Retained are new references to batches.
func Retained(batches []*flow.Batch) []*flow.Batch {
	out := make([]*flow.Batch, len(batches))
	for i, b := range batches {
		out[i] = b.Retain()
	}
	return out
}

// ReleaseAll releases batches.
func ReleaseAll(batches []*flow.Batch) {
	for _, b := range batches {
		b.Release()
	}
}

// Keep is a sink that keeps all rows as they are, and gives them.
type Keep struct{}

// Prepare does nothing.
func (Keep) Prepare(context.Context) error { return nil }

// Make makes a Kept.
func (Keep) Make(context.Context) (SinkState, error) { return &Kept{}, nil }

// Finish gives the batches that were kept.
func (Keep) Finish(_ context.Context, all SinkState) (Source, error) {
	return Batches(all.(*Kept).Take()...), nil
}

// Close does nothing.
func (Keep) Close() {}
