package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// ArithmeticOp is an operation on two numbers.
type ArithmeticOp int

// The arithmetic operations.
const (
	Add ArithmeticOp = iota
	Subtract
	Multiply
	// Divide truncates towards zero; an integer or decimal divided by zero is an
	// ErrValue that names the row, a float follows IEEE 754.
	Divide
	// Modulo has the sign of the dividend, as in C, Go and SQL; by zero as
	// Divide (a float gives NaN).
	Modulo
)

// String is the operator: "+", "-", "*", "/", "%".
func (op ArithmeticOp) String() string { return symbol(int(op), "+", "-", "*", "/", "%") }

// symbol names an operation in error texts.
func symbol(op int, names ...string) string {
	if op < 0 || op >= len(names) {
		return "unknown operation"
	}
	return names[op]
}

// ArithmeticOptions choose between wrapping and checked arithmetic.
type ArithmeticOptions struct {
	// Checked makes an integer or temporal overflow an ErrValue that names the
	// row. Without it integers and temporal values wrap at their width. Decimals
	// are always checked.
	Checked bool
}

// ArithmeticFunc computes a op b row by row. At most one of a and b is a
// Scalar. The result is of ArithmeticType; it is null where a or b is null, and
// nothing under a null is an error. The first bad row is the one named.
// Floats follow IEEE 754 with one rounding; float Modulo is exact, as C's fmod.
type ArithmeticFunc func(ctx context.Context, s device.Stream, op ArithmeticOp, a, b Datum, o ArithmeticOptions) (*memory.Column, error)

// ArithmeticType is the type of a op b.
//
//   - Numbers must be of one type, which is the result's: cast first.
//   - Decimals follow Arrow (which has the rules from Redshift), with precisions
//     p1, p2 and scales s1, s2: Add and Subtract have scale max(s1, s2) and
//     precision max(p1-s1, p2-s2) + scale + 1; Multiply s1+s2 and p1+p2+1;
//     Divide max(4, s1+p2-s2+1) and p1-s1+s2+scale. Modulo, which Arrow has not
//     got, has max(s1, s2) and min(p1-s1, p2-s2)+scale, as in SQL Server. A
//     precision above 38 becomes 38, and what does not fit is an overflow. The
//     scale stays, but of Divide, which cuts digits off in any case: as in SQL
//     Server it shrinks to what the whole digits leave of 38, to 6 at least. A
//     scale outside of [0, 38] is an ErrUnsupported.
//   - timestamp - timestamp of one unit, both with or both without zone, is a
//     duration of that unit; so is time - time. date32 - date32 is a duration
//     in seconds, date64 - date64 in milliseconds.
//   - timestamp ± duration and duration + timestamp, of one unit, is that
//     timestamp; date32 ± duration is a timestamp without zone in the
//     duration's unit; date64 ± duration likewise from milliseconds on.
//   - duration ± duration and duration % duration of one unit are durations;
//     duration * int64, int64 * duration and duration / int64 too.
//
// Types that differ are an ErrMismatch, types without arithmetic an
// ErrUnsupported; both name the types.
func ArithmeticType(op ArithmeticOp, a, b arrow.DataType) (arrow.DataType, error) {
	if op < Add || op > Modulo {
		return nil, unsupported("arithmetic operation %d", int(op))
	}
	ida, idb := a.ID(), b.ID()
	switch {
	case ida == arrow.DECIMAL128 && idb == arrow.DECIMAL128:
		return decimalArithmetic(op, a.(*arrow.Decimal128Type), b.(*arrow.Decimal128Type))
	case NumberTypes.Has(ida) && ida == idb:
		return a, nil
	case TemporalTypes.Has(ida) || TemporalTypes.Has(idb):
		if t := temporalArithmetic(op, a, b); t != nil {
			return t, nil
		}
		return nil, mismatch("%s %s %s is not defined", a, op, b)
	case (NumberTypes | DecimalTypes).Has(ida) && (NumberTypes | DecimalTypes).Has(idb):
		return nil, mismatch("%s %s %s: cast to one type first", a, op, b)
	default:
		return nil, unsupported("%s %s %s", a, op, b)
	}
}

func decimalArithmetic(op ArithmeticOp, a, b *arrow.Decimal128Type) (arrow.DataType, error) {
	var p, s int32
	switch op {
	case Add, Subtract:
		s = max(a.Scale, b.Scale)
		p = max(a.Precision-a.Scale, b.Precision-b.Scale) + s + 1
	case Multiply:
		s = a.Scale + b.Scale
		p = a.Precision + b.Precision + 1
	case Divide:
		whole := a.Precision - a.Scale + b.Scale
		if s = max(4, a.Scale+b.Precision-b.Scale+1); whole+s > DecimalDigits {
			s = max(DecimalDigits-whole, min(s, 6))
		}
		p = whole + s
	case Modulo:
		s = max(a.Scale, b.Scale)
		p = min(a.Precision-a.Scale, b.Precision-b.Scale) + s
	}
	if s < 0 || s > 38 || a.Scale < 0 || b.Scale < 0 {
		return nil, unsupported("%s %s %s: the result's scale would be %d", a, op, b, s)
	}
	return &arrow.Decimal128Type{Precision: min(max(p, 1), 38), Scale: s}, nil
}

// temporalArithmetic is the result's type, or nil where there is none.
func temporalArithmetic(op ArithmeticOp, a, b arrow.DataType) arrow.DataType {
	da, aIsDuration := a.(*arrow.DurationType)
	db, bIsDuration := b.(*arrow.DurationType)
	sum := op == Add || op == Subtract
	switch {
	case aIsDuration && bIsDuration:
		if da.Unit == db.Unit && (sum || op == Modulo) {
			return a
		}
	case aIsDuration && b.ID() == arrow.INT64:
		if op == Multiply || op == Divide {
			return a
		}
	case bIsDuration && a.ID() == arrow.INT64:
		if op == Multiply {
			return b
		}
	case bIsDuration && sum:
		return shifted(a, db.Unit)
	case aIsDuration && op == Add:
		return shifted(b, da.Unit)
	case op == Subtract && sameType(a, b):
		return difference(a)
	}
	return nil
}

// shifted is the type of t plus a duration in units of u.
func shifted(t arrow.DataType, u arrow.TimeUnit) arrow.DataType {
	switch t := t.(type) {
	case *arrow.TimestampType:
		if t.Unit == u {
			return t
		}
	case *arrow.Date32Type:
		return &arrow.TimestampType{Unit: u}
	case *arrow.Date64Type:
		if u != arrow.Second {
			return &arrow.TimestampType{Unit: u}
		}
	}
	return nil
}

// difference is the type of one t minus another.
func difference(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.TimestampType:
		return &arrow.DurationType{Unit: t.Unit}
	case *arrow.Time32Type:
		return &arrow.DurationType{Unit: t.Unit}
	case *arrow.Time64Type:
		return &arrow.DurationType{Unit: t.Unit}
	case *arrow.Date32Type:
		return &arrow.DurationType{Unit: arrow.Second}
	case *arrow.Date64Type:
		return &arrow.DurationType{Unit: arrow.Millisecond}
	}
	return nil
}

// Arithmetic computes x op y row by row, as ArithmeticFunc says: x and y are
// columns of one length, or one of them a Scalar. The result is of
// ArithmeticType, whose errors it returns, and null where x or y is null.
func (b *Backend) Arithmetic(ctx context.Context, s device.Stream, op ArithmeticOp, x, y Datum, o ArithmeticOptions) (out *memory.Column, err error) {
	const call = "arithmetic"
	defer b.guard(call, &err)
	cols, err := b.operands(call, nil, x, y)
	if err != nil {
		return nil, err
	}
	t, err := ArithmeticType(op, x.Type(), y.Type())
	if err != nil {
		return nil, err
	}
	o.Checked = o.Checked || t.ID() == arrow.DECIMAL128
	e := b.Set.Arithmetic
	if err = b.admit(ctx, s, call, e.Func != nil, e.Types, cols...); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, op, x, y, o)
}
