package expr

import (
	"fmt"
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// Col is the column of that name.
func Col(name string) *Expr { return &Expr{kind: KindColumn, name: name} }

// Lit is a constant: a bool, an integer, a float, a string, []byte, time.Time
// (timestamp[us, tz=UTC]), time.Duration (duration[ns]), a kernels.Scalar, or
// nil for null. int is int64. Any other Go type is an error that Bind returns.
func Lit(v any) *Expr {
	s, err := scalarOf(v)
	if err != nil {
		return &Expr{kind: KindInvalid, err: err}
	}
	e := &Expr{kind: KindLiteral, value: s}
	if !s.Valid() && s.Type().ID() != arrow.NULL {
		return Lit(nil).Cast(s.Type())
	}
	return e
}

// Named is a constant that is printed as a name, as one that a query computes before
// it runs. Its text reads back as a column.
func Named(name string, v kernels.Scalar) *Expr {
	e := literal(v)
	if v.Type() == nil {
		e.kind, e.err = KindInvalid, fmt.Errorf("%w: a scalar without a type as a literal", errType)
	}
	e.name = name
	return e
}

func scalarOf(v any) (kernels.Scalar, error) {
	switch v := v.(type) {
	case nil:
		return kernels.Null(arrow.Null), nil
	case kernels.Scalar:
		if v.Type() == nil {
			return v, fmt.Errorf("%w: a scalar without a type as a literal", errType)
		}
		return v, nil
	case bool:
		return kernels.Bool(v), nil
	case int:
		return kernels.Int64(int64(v)), nil
	case int8:
		return kernels.Int(arrow.PrimitiveTypes.Int8, int64(v)), nil
	case int16:
		return kernels.Int(arrow.PrimitiveTypes.Int16, int64(v)), nil
	case int32:
		return kernels.Int(arrow.PrimitiveTypes.Int32, int64(v)), nil
	case int64:
		return kernels.Int64(v), nil
	case uint:
		return kernels.Int(arrow.PrimitiveTypes.Uint64, int64(v)), nil
	case uint8:
		return kernels.Int(arrow.PrimitiveTypes.Uint8, int64(v)), nil
	case uint16:
		return kernels.Int(arrow.PrimitiveTypes.Uint16, int64(v)), nil
	case uint32:
		return kernels.Int(arrow.PrimitiveTypes.Uint32, int64(v)), nil
	case uint64:
		return kernels.Int(arrow.PrimitiveTypes.Uint64, int64(v)), nil
	case float32:
		return kernels.Float(arrow.PrimitiveTypes.Float32, float64(v)), nil
	case float64:
		return kernels.Float64(v), nil
	case string:
		return kernels.String(v), nil
	case []byte:
		return kernels.Text(arrow.BinaryTypes.Binary, string(v)), nil
	case time.Time:
		return kernels.Int(arrow.FixedWidthTypes.Timestamp_us, v.UnixMicro()), nil
	case time.Duration:
		return kernels.Int(arrow.FixedWidthTypes.Duration_ns, int64(v)), nil
	case big.Int, *big.Int, *Expr:
		return kernels.Scalar{}, fmt.Errorf("%w: a %T as a literal", errType, v)
	default:
		return kernels.Scalar{}, fmt.Errorf("%w: a Go value of type %T as a literal", errType, v)
	}
}

// of is an operand: an *Expr as it is, anything else as Lit.
func of(v any) *Expr {
	if e, ok := v.(*Expr); ok {
		if e == nil {
			return &Expr{kind: KindInvalid, err: fmt.Errorf("%w: no expression given as an operand", errSyntax)}
		}
		return e
	}
	return Lit(v)
}

// call makes a call and holds the number of its operands against the table.
func call(op Op, args ...*Expr) *Expr {
	e := &Expr{kind: KindCall, op: op, args: args}
	if info := ops[op]; len(args) < info.min || info.max >= 0 && len(args) > info.max {
		e.err = fmt.Errorf("%w: %s takes %s, not %d", errType, op, info.operands(), len(args))
	}
	return e.sized()
}

func (o opInfo) operands() string {
	switch {
	case o.max < 0:
		return fmt.Sprintf("at least %d operands", o.min)
	case o.max == 1:
		return "1 operand"
	case o.min != o.max:
		return fmt.Sprintf("%d to %d operands", o.min, o.max)
	default:
		return fmt.Sprintf("%d operands", o.max)
	}
}

// Add is e + v. Here and below v is an *Expr or a value as Lit takes it.
func (e *Expr) Add(v any) *Expr { return call(OpAdd, e, of(v)) }

// Sub is e - v.
func (e *Expr) Sub(v any) *Expr { return call(OpSub, e, of(v)) }

// Mul is e * v.
func (e *Expr) Mul(v any) *Expr { return call(OpMul, e, of(v)) }

// Div is e / v; integers are truncated towards zero, with a decimal among the two it is float64.
func (e *Expr) Div(v any) *Expr { return call(OpDiv, e, of(v)) }

// Mod is e % v, with the sign of e.
func (e *Expr) Mod(v any) *Expr { return call(OpMod, e, of(v)) }

// AddChecked is e + v where overflow is an error that names the row.
func (e *Expr) AddChecked(v any) *Expr { return call(OpAddChecked, e, of(v)) }

// SubChecked is e - v where overflow is an error that names the row.
func (e *Expr) SubChecked(v any) *Expr { return call(OpSubChecked, e, of(v)) }

// MulChecked is e * v where overflow is an error that names the row.
func (e *Expr) MulChecked(v any) *Expr { return call(OpMulChecked, e, of(v)) }

// DivChecked is e / v where overflow is an error that names the row.
func (e *Expr) DivChecked(v any) *Expr { return call(OpDivChecked, e, of(v)) }

// ModChecked is e % v where overflow is an error that names the row.
func (e *Expr) ModChecked(v any) *Expr { return call(OpModChecked, e, of(v)) }

// Eq is e = v.
func (e *Expr) Eq(v any) *Expr { return call(OpEq, e, of(v)) }

// Ne is e <> v.
func (e *Expr) Ne(v any) *Expr { return call(OpNe, e, of(v)) }

// Lt is e < v.
func (e *Expr) Lt(v any) *Expr { return call(OpLt, e, of(v)) }

// Le is e <= v.
func (e *Expr) Le(v any) *Expr { return call(OpLe, e, of(v)) }

// Gt is e > v.
func (e *Expr) Gt(v any) *Expr { return call(OpGt, e, of(v)) }

// Ge is e >= v.
func (e *Expr) Ge(v any) *Expr { return call(OpGe, e, of(v)) }

// Between is e >= low and e <= high.
func (e *Expr) Between(low, high any) *Expr { return e.Ge(low).And(e.Le(high)) }

// In is true where e equals one of the values and false elsewhere, also for a
// null unless null is among the values. The values are literals.
func (e *Expr) In(values ...any) *Expr {
	args := []*Expr{e}
	for _, v := range values {
		args = append(args, of(v))
	}
	return call(OpIn, args...)
}

// Among is SQL's in: true where e equals one of the values; null where e is null, or
// where none equals it and null is among them; else false. The values are literals.
func (e *Expr) Among(values ...any) *Expr {
	args := []*Expr{e}
	for _, v := range values {
		args = append(args, of(v))
	}
	return call(OpAmong, args...)
}

// And is Kleene's and: false where either is false, else null where either is.
func (e *Expr) And(v any) *Expr { return call(OpAnd, e, of(v)) }

// Or is Kleene's or: true where either is true, else null where either is.
func (e *Expr) Or(v any) *Expr { return call(OpOr, e, of(v)) }

// Xor is true where exactly one is true; null where either is null.
func (e *Expr) Xor(v any) *Expr { return call(OpXor, e, of(v)) }

// AndNot is e and not v.
func (e *Expr) AndNot(v any) *Expr { return call(OpAndNot, e, of(v)) }

// Not turns true to false and back; null stays null.
func (e *Expr) Not() *Expr { return call(OpNot, e) }

// IsNull is true where e is null; it is never null itself.
func (e *Expr) IsNull() *Expr { return call(OpIsNull, e) }

// IsNotNull is true where e is not null; it is never null itself.
func (e *Expr) IsNotNull() *Expr { return call(OpIsNotNull, e) }

// IsNaN is true where e is a NaN; it is never null itself.
func (e *Expr) IsNaN() *Expr { return call(OpIsNaN, e) }

// FillNull is e with v in place of nulls.
func (e *Expr) FillNull(v any) *Expr { return call(OpCoalesce, e, of(v)) }

// Coalesce is the first of the values that is not null.
func Coalesce(values ...any) *Expr {
	args := make([]*Expr, len(values))
	for i, v := range values {
		args[i] = of(v)
	}
	return call(OpCoalesce, args...)
}

// IfElse is a where cond is true, b where it is false, null where it is null.
func IfElse(cond, a, b any) *Expr { return call(OpIfElse, of(cond), of(a), of(b)) }

// Case is a CASE under construction: give it an Else or an End.
type Case struct{ args []*Expr }

// When begins a CASE: then where cond is true. The first condition that is true
// decides; a null one counts as false.
func When(cond, then any) Case { return Case{}.When(cond, then) }

// When adds a condition, tried after those before it.
func (c Case) When(cond, then any) Case {
	return Case{append(c.args[:len(c.args):len(c.args)], of(cond), of(then))}
}

// Else ends a CASE with the value for rows where no condition is true.
func (c Case) Else(v any) *Expr {
	return call(OpCase, append(c.args[:len(c.args):len(c.args)], of(v))...)
}

// End ends a CASE; rows where no condition is true are null.
func (c Case) End() *Expr { return c.Else(nil) }

// Cast is e converted to t; a value that does not fit is an error.
func (e *Expr) Cast(t arrow.DataType) *Expr {
	return (&Expr{kind: KindCast, args: []*Expr{e}, typ: t}).sized()
}

// As names the result. The name inside of a larger expression means nothing.
func (e *Expr) As(name string) *Expr {
	return (&Expr{kind: KindAlias, args: []*Expr{e}, name: name}).sized()
}

// Alias is As.
func (e *Expr) Alias(name string) *Expr { return e.As(name) }
