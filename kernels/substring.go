package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// SubstringFunc gives for each text of c, of BinaryTypes, its letters from number
// from on, the first being 1: length of them, or as many as there are. Letters are
// Unicode code points, a byte that belongs to none is one; those of a column of bytes
// are its bytes. Null where c is.
type SubstringFunc func(ctx context.Context, s device.Stream, c *memory.Column, from, length int64) (*memory.Column, error)

// Substring checks its arguments and runs the set's Substring: a column of c's
// type, null where c is null. A from below 1 and a length below 0 are an
// ErrMismatch; other types than BinaryTypes and a backend without the kernel an
// ErrUnsupported.
func (b *Backend) Substring(ctx context.Context, s device.Stream, c *memory.Column, from, length int64) (part *memory.Column, err error) {
	const call = "substring"
	defer b.guard(call, &err)
	if err := b.present(call, c); err != nil {
		return nil, err
	}
	if _, err := SubstringType(c.Type(), from, length); err != nil {
		return nil, err
	}
	if err := b.admit(ctx, s, call, b.Set.Substring.Func != nil, b.Set.Substring.Types, c); err != nil {
		return nil, err
	}
	return b.Set.Substring.Func(ctx, s, c, from, length)
}

// SubstringType is t, or an error where Substring has no such part of it.
func SubstringType(t arrow.DataType, from, length int64) (arrow.DataType, error) {
	switch {
	case !BinaryTypes.Has(t.ID()):
		return nil, unsupported("substring of %s", t)
	case from < 1:
		return nil, mismatch("substring from letter %d: letters are counted from 1", from)
	case length < 0:
		return nil, mismatch("substring of %d letters: 0 or more are possible", length)
	}
	return t, nil
}
