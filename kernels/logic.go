package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// LogicOp is an operation on two truth values.
type LogicOp int

// The logic operations, all Kleene: false and null is false, true or null is
// true; AndNot is a and not b; Xor with a null is null.
const (
	And LogicOp = iota
	Or
	Xor
	AndNot
)

// String is the name as SQL has it.
func (op LogicOp) String() string { return symbol(int(op), "and", "or", "xor", "and not") }

// LogicFunc combines two bool columns, or one and a Scalar, by Kleene logic.
type LogicFunc func(ctx context.Context, s device.Stream, op LogicOp, a, b Datum) (*memory.Column, error)

// NotFunc negates a bool column; null stays null.
type NotFunc func(ctx context.Context, s device.Stream, c *memory.Column) (*memory.Column, error)

// LogicType is bool where both types are, else an ErrMismatch.
func LogicType(op LogicOp, a, b arrow.DataType) (arrow.DataType, error) {
	if op < And || op > AndNot {
		return nil, unsupported("logic operation %d", int(op))
	}
	if a.ID() != arrow.BOOL || b.ID() != arrow.BOOL {
		return nil, mismatch("%s %s %s: both must be bool", a, op, b)
	}
	return a, nil
}

// Logic combines x and y row by row by Kleene logic: bool columns of one length,
// or one of them a Scalar. Other types are an ErrMismatch.
func (b *Backend) Logic(ctx context.Context, s device.Stream, op LogicOp, x, y Datum) (out *memory.Column, err error) {
	const call = "logic"
	defer b.guard(call, &err)
	cols, err := b.operands(call, nil, x, y)
	if err != nil {
		return nil, err
	}
	if _, err = LogicType(op, x.Type(), y.Type()); err != nil {
		return nil, err
	}
	e := b.Set.Logic
	if err = b.admit(ctx, s, call, e.Func != nil, e.Types, cols...); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, op, x, y)
}

// Not turns true to false and back; null stays null. A column that is not bool
// is an ErrMismatch.
func (b *Backend) Not(ctx context.Context, s device.Stream, c *memory.Column) (out *memory.Column, err error) {
	const call = "not"
	defer b.guard(call, &err)
	if err = b.present(call, c); err != nil {
		return nil, err
	}
	if c.Type().ID() != arrow.BOOL {
		return nil, b.fail(device.ErrMismatch, call, "not %s: it must be bool", c.Type())
	}
	e := b.Set.Not
	if err = b.admit(ctx, s, call, e.Func != nil, e.Types, c); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, c)
}
