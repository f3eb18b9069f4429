package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// CompareOp is a comparison.
type CompareOp int

// The comparisons. Comparisons with NaN are false except NotEqual, as IEEE 754
// has it (keys of sort, group and join have their own rule: NaN equals NaN).
const (
	Equal CompareOp = iota
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
)

// String is the operator as SQL has it.
func (op CompareOp) String() string { return symbol(int(op), "=", "<>", "<", "<=", ">", ">=") }

// Swapped is the comparison for which b Swapped a is a op b.
func (op CompareOp) Swapped() CompareOp {
	switch op {
	case Less:
		return Greater
	case LessEqual:
		return GreaterEqual
	case Greater:
		return Less
	case GreaterEqual:
		return LessEqual
	default:
		return op
	}
}

// CompareFunc compares row by row to a bool column; null where either is null.
// At most one of a and b is a Scalar. Strings compare by bytes, false is less
// than true.
type CompareFunc func(ctx context.Context, s device.Stream, op CompareOp, a, b Datum) (*memory.Column, error)

// CompareType is bool where values of the two types can be compared: types
// that are equal, decimals of one scale, timestamps of one unit both with or
// both without a zone. A dictionary counts as the type of its values. Other
// pairs are an ErrMismatch, nested types an ErrUnsupported.
func CompareType(op CompareOp, a, b arrow.DataType) (arrow.DataType, error) {
	if op < Equal || op > GreaterEqual {
		return nil, unsupported("comparison %d", int(op))
	}
	x, y := plain(a), plain(b)
	if !KeyTypes.Has(x.ID()) || !KeyTypes.Has(y.ID()) {
		return nil, unsupported("%s %s %s", a, op, b)
	}
	if dx, ok := x.(*arrow.Decimal128Type); ok {
		if dy, ok := y.(*arrow.Decimal128Type); ok && dx.Scale == dy.Scale {
			return arrow.FixedWidthTypes.Boolean, nil
		}
	}
	if !sameType(x, y) {
		return nil, mismatch("%s %s %s: cast to one type first", a, op, b)
	}
	return arrow.FixedWidthTypes.Boolean, nil
}

// Compare compares x and y row by row to a bool column, null where either is
// null: columns of one length, or one of them a Scalar, of types that
// CompareType allows (ErrMismatch, for nested types ErrUnsupported).
func (b *Backend) Compare(ctx context.Context, s device.Stream, op CompareOp, x, y Datum) (out *memory.Column, err error) {
	const call = "compare"
	defer b.guard(call, &err)
	cols, err := b.operands(call, nil, x, y)
	if err != nil {
		return nil, err
	}
	if _, err = CompareType(op, x.Type(), y.Type()); err != nil {
		return nil, err
	}
	e := b.Set.Compare
	if err = b.admit(ctx, s, call, e.Func != nil, e.Types, cols...); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, op, x, y)
}
