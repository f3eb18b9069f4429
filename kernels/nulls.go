package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// NullTest is a question about one value whose answer is never null.
type NullTest int

// The null tests.
const (
	IsNullTest  NullTest = iota // the value is null
	IsValidTest                 // the value is not null
	IsNaNTest                   // the value is a NaN; false for a null and for types without NaN
)

// String is the question as SQL has it.
func (q NullTest) String() string { return symbol(int(q), "is null", "is not null", "is nan") }

// IsNullFunc answers a NullTest for each row with a bool column without nulls.
// A row of a dictionary column is null also where its dictionary holds a null.
type IsNullFunc func(ctx context.Context, s device.Stream, q NullTest, c *memory.Column) (*memory.Column, error)

// FillNullFunc replaces nulls of c with the value of fill, a Scalar or a column
// of the same type and length; where that is null too the result is null. The
// result is of c's type; a dictionary may grow by what fill brings, an ErrValue
// where its index type has no room for that.
type FillNullFunc func(ctx context.Context, s device.Stream, c *memory.Column, fill Datum) (*memory.Column, error)

// MixType is the type of a column whose values come from both a and b, as
// FillNull and IfElse make: a type with keys (KeyTypes), which must be that of
// both, or a dictionary and the type of its values, which gives the
// dictionary. Else it is an ErrMismatch, for nested types an ErrUnsupported.
func MixType(a, b arrow.DataType) (arrow.DataType, error) {
	if !KeyTypes.Has(a.ID()) || !KeyTypes.Has(b.ID()) {
		return nil, unsupported("values of %s and %s in one column", a, b)
	}
	switch {
	case arrow.TypeEqual(a, b), a.ID() == arrow.DICTIONARY && arrow.TypeEqual(plain(a), b):
		return a, nil
	case b.ID() == arrow.DICTIONARY && arrow.TypeEqual(a, plain(b)):
		return b, nil
	default:
		return nil, mismatch("values of %s and %s in one column: cast to one type first", a, b)
	}
}

// IsNull answers q for each row of c, of any type that the set takes, with a bool
// column without nulls.
func (b *Backend) IsNull(ctx context.Context, s device.Stream, q NullTest, c *memory.Column) (out *memory.Column, err error) {
	const call = "is null"
	defer b.guard(call, &err)
	if err = b.present(call, c); err != nil {
		return nil, err
	}
	if q < IsNullTest || q > IsNaNTest {
		return nil, b.fail(device.ErrUnsupported, call, "null test %d", int(q))
	}
	e := b.Set.IsNull
	if err = b.admit(ctx, s, call, e.Func != nil, e.Types, c); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, q, c)
}

// FillNull is c with the value of fill, a Scalar or a column of c's length, where
// c is null. The result is of c's type; a fill of another is an ErrMismatch, but
// a dictionary takes values of its own.
func (b *Backend) FillNull(ctx context.Context, s device.Stream, c *memory.Column, fill Datum) (out *memory.Column, err error) {
	const call = "fill null"
	defer b.guard(call, &err)
	if err = b.present(call, c); err != nil {
		return nil, err
	}
	cols, err := b.operands(call, nil, c, fill)
	if err != nil {
		return nil, err
	}
	t, err := MixType(c.Type(), fill.Type())
	if err != nil {
		return nil, err
	}
	if !arrow.TypeEqual(t, c.Type()) {
		return nil, b.fail(device.ErrMismatch, call, "%s filled with %s: cast to one type first", c.Type(), fill.Type())
	}
	e := b.Set.FillNull
	if err = b.admit(ctx, s, call, e.Func != nil, e.Types, cols...); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, c, fill)
}
