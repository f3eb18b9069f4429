package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// UnaryOp is an operation on one number.
type UnaryOp int

// The unary operations.
const (
	Negate UnaryOp = iota
	Abs
	Sign // -1, 0 or 1; a float NaN stays one
	Sqrt
	Exp
	Log // natural
	Floor
	Ceil
	Trunc
	Round // half away from zero, as SQL
)

// String is the name as SQL has it: "-", "abs", "sign", "sqrt", "exp", "ln",
// "floor", "ceil", "trunc", "round".
func (op UnaryOp) String() string {
	return symbol(int(op), "-", "abs", "sign", "sqrt", "exp", "ln", "floor", "ceil", "trunc", "round")
}

// UnaryFunc computes op of each value; the result is of UnaryType. With
// o.Checked integers and durations fail on what their type cannot hold (the
// negative or absolute value of the least integer, the negative of an unsigned
// one), decimals on what their precision cannot; without it they wrap. Sqrt and
// Log outside of their domain give NaN or an infinity, as IEEE 754 has it. Exp
// and Log are within 2 units in the last place, all else is exact.
type UnaryFunc func(ctx context.Context, s device.Stream, op UnaryOp, c *memory.Column, o ArithmeticOptions) (*memory.Column, error)

// UnaryType is the type of op of a value of type t: t itself, but Sign of
// integers, durations and decimals is int8, and Sqrt, Exp and Log of integers
// are float64. Decimals have no Sqrt, Exp or Log, durations no rounding
// either, other types nothing at all (ErrUnsupported).
func UnaryType(op UnaryOp, t arrow.DataType) (arrow.DataType, error) {
	id := t.ID()
	integer := IntegerTypes.Has(id)
	switch {
	case op < Negate || op > Round:
		return nil, unsupported("unary operation %d", int(op))
	case FloatTypes.Has(id):
		return t, nil
	case op == Negate || op == Abs:
		if integer || id == arrow.DECIMAL128 || id == arrow.DURATION {
			return t, nil
		}
	case op == Sign:
		if integer || id == arrow.DECIMAL128 || id == arrow.DURATION {
			return arrow.PrimitiveTypes.Int8, nil
		}
	case op == Sqrt || op == Exp || op == Log:
		if integer {
			return arrow.PrimitiveTypes.Float64, nil
		}
	case integer || id == arrow.DECIMAL128:
		return t, nil
	}
	return nil, unsupported("%s of %s", op, t)
}

// Unary computes op of each value of c; nulls stay null. The result is of
// UnaryType, whose errors it returns; with o.Checked, and of decimals, what does
// not fit is an ErrValue that names the row.
func (b *Backend) Unary(ctx context.Context, s device.Stream, op UnaryOp, c *memory.Column, o ArithmeticOptions) (out *memory.Column, err error) {
	const call = "unary"
	defer b.guard(call, &err)
	if err = b.present(call, c); err != nil {
		return nil, err
	}
	if _, err = UnaryType(op, c.Type()); err != nil {
		return nil, err
	}
	o.Checked = o.Checked || c.Type().ID() == arrow.DECIMAL128
	e := b.Set.Unary
	if err = b.admit(ctx, s, call, e.Func != nil, e.Types, c); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, op, c, o)
}
