package kernels

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// ConcatFunc joins columns of one type end to end, one or more of them. utf8,
// binary and list offsets that would pass 2^31-1 are an ErrValue that says to
// cast to the large type; dictionaries that differ are unified, and more
// distinct values than the index type numbers are an ErrValue.
type ConcatFunc func(ctx context.Context, s device.Stream, cols []*memory.Column) (*memory.Column, error)

// Concat joins columns of one type end to end. It takes one or more, of any
// type. None, or types that differ, are an ErrMismatch. utf8, binary and list
// offsets that would pass 2^31-1 are an ErrValue that says to cast to the large
// type. Dictionaries that differ are unified; where more distinct values are in
// use than the index type numbers, that is an ErrValue.
func (b *Backend) Concat(ctx context.Context, s device.Stream, cols []*memory.Column) (_ *memory.Column, err error) {
	const call = "concat"
	defer b.guard(call, &err)
	if len(cols) > 0 && !slices.ContainsFunc(cols, func(c *memory.Column) bool { return !isHalf(c) }) {
		return movedOne(cols, func(w []*memory.Column) (*memory.Column, error) { return b.Concat(ctx, s, w) })
	}
	entry := &b.Set.Concat
	if err := b.admit(ctx, s, call, entry.Func != nil, entry.Types, cols...); err != nil {
		return nil, err
	}
	if len(cols) == 0 {
		return nil, b.fail(device.ErrMismatch, call, "no columns given")
	}
	for i, c := range cols {
		if c == nil {
			return nil, b.fail(device.ErrMismatch, call, "column %d is nil", i)
		}
		if !arrow.TypeEqual(c.Type(), cols[0].Type()) {
			return nil, b.fail(device.ErrMismatch, call, "column 0 is of type %s, column %d of %s", cols[0].Type(), i, c.Type())
		}
	}
	return entry.Func(ctx, s, cols)
}
