package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// IfElseFunc takes a where cond is true and b where it is false; null where
// cond is null. a and b are of one type; either or both may be a Scalar. The
// result is of MixType of the two.
type IfElseFunc func(ctx context.Context, s device.Stream, cond *memory.Column, a, b Datum) (*memory.Column, error)

// IfElse is x where cond is true, y where it is false and null where it is null.
// x and y are columns of cond's length or Scalars; the result is of MixType of
// the two, whose errors it returns. A condition that is not bool is an
// ErrMismatch.
func (b *Backend) IfElse(ctx context.Context, s device.Stream, cond *memory.Column, x, y Datum) (out *memory.Column, err error) {
	const call = "if else"
	defer b.guard(call, &err)
	if err = b.present(call, cond); err != nil {
		return nil, err
	}
	if cond.Type().ID() != arrow.BOOL {
		return nil, b.fail(device.ErrMismatch, call, "a condition of %s: it must be bool", cond.Type())
	}
	cols, err := b.operands(call, cond, x, y)
	if err != nil {
		return nil, err
	}
	t, err := MixType(x.Type(), y.Type())
	if err != nil {
		return nil, err
	}
	e := b.Set.IfElse
	if !e.Types.Has(t.ID()) && e.Func != nil {
		return nil, b.fail(device.ErrUnsupported, call, "values of %s", t)
	}
	if err = b.admit(ctx, s, call, e.Func != nil, e.Types|BoolTypes, cols...); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, cond, x, y)
}
