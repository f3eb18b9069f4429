package expr

import (
	"cmp"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// fold computes a call whose operands are literals of bool, int64 or float64,
// as the kernels do. What would be an error, and other types, are left to
// Eval, which computes them once.
func (b *binder) fold(op Op, t arrow.DataType, args []int) (kernels.Scalar, bool) {
	values := make([]kernels.Scalar, len(args))
	for i, a := range args {
		v, ok := b.constant(a)
		if !ok {
			return v, false
		}
		values[i] = v
	}
	switch {
	case op == OpIsNull:
		return kernels.Bool(!values[0].Valid()), true
	case op == OpIsNotNull:
		return kernels.Bool(values[0].Valid()), true
	case op.isLogic():
		return foldLogic(op, values[0], values[1])
	case op != OpNot && !op.isArithmetic() && !op.isCompare() && op != OpNeg:
		return kernels.Scalar{}, false
	}
	for _, v := range values {
		if !v.Valid() {
			return kernels.Null(t), true
		}
	}
	id := values[0].Type().ID()
	switch {
	case op == OpNot:
		return kernels.Bool(!values[0].Bool()), true
	case op == OpNeg && id == arrow.INT64:
		return kernels.Int64(-values[0].Int64()), true
	case op == OpNeg && id == arrow.FLOAT64:
		return kernels.Float64(-values[0].Float64()), true
	case op.isCompare():
		return foldCompare(op, values[0], values[1])
	case op <= OpMod && id == arrow.INT64 && values[1].Type().ID() == arrow.INT64:
		return foldInt(op, values[0].Int64(), values[1].Int64())
	case op.isArithmetic() && id == arrow.FLOAT64:
		return foldFloat(op, values[0].Float64(), values[1].Float64()), true
	}
	return kernels.Scalar{}, false
}

func foldLogic(op Op, x, y kernels.Scalar) (kernels.Scalar, bool) {
	if op == OpAndNot {
		op = OpAnd
		if y.Valid() {
			y = kernels.Bool(!y.Bool())
		}
	}
	isFalse := func(v kernels.Scalar) bool { return v.Valid() && !v.Bool() }
	isTrue := func(v kernels.Scalar) bool { return v.Valid() && v.Bool() }
	switch {
	case op == OpAnd && (isFalse(x) || isFalse(y)):
		return kernels.Bool(false), true
	case op == OpOr && (isTrue(x) || isTrue(y)):
		return kernels.Bool(true), true
	case !x.Valid() || !y.Valid():
		return kernels.Null(boolean), true
	case op == OpXor:
		return kernels.Bool(x.Bool() != y.Bool()), true
	default:
		return kernels.Bool(op == OpAnd), true
	}
}

func foldCompare(op Op, x, y kernels.Scalar) (kernels.Scalar, bool) {
	if !arrow.TypeEqual(x.Type(), y.Type()) {
		return x, false
	}
	var c int
	switch id := x.Type().ID(); {
	case kernels.FloatTypes.Has(id):
		if math.IsNaN(x.Float64()) || math.IsNaN(y.Float64()) {
			return kernels.Bool(op == OpNe), true
		}
		c = cmp.Compare(x.Float64(), y.Float64())
	default:
		c = kernels.CompareKeys(x, y)
	}
	return kernels.Bool(holds(op, c)), true
}

// holds reports whether a comparison is true of two values in that order.
func holds(op Op, c int) bool {
	switch op {
	case OpEq:
		return c == 0
	case OpNe:
		return c != 0
	case OpLt:
		return c < 0
	case OpLe:
		return c <= 0
	case OpGt:
		return c > 0
	default:
		return c >= 0
	}
}

func foldInt(op Op, x, y int64) (kernels.Scalar, bool) {
	switch op {
	case OpAdd:
		return kernels.Int64(x + y), true
	case OpSub:
		return kernels.Int64(x - y), true
	case OpMul:
		return kernels.Int64(x * y), true
	}
	if y == 0 {
		return kernels.Scalar{}, false
	}
	if op == OpDiv {
		return kernels.Int64(x / y), true
	}
	return kernels.Int64(x % y), true
}

func foldFloat(op Op, x, y float64) kernels.Scalar {
	switch kop, _ := op.arithmetic(); kop {
	case kernels.Add:
		return kernels.Float64(x + y)
	case kernels.Subtract:
		return kernels.Float64(x - y)
	case kernels.Multiply:
		return kernels.Float64(x * y)
	case kernels.Divide:
		return kernels.Float64(x / y)
	default:
		return kernels.Float64(math.Mod(x, y))
	}
}

// simplify finds the operand that a logic operation with a literal is.
func (b *binder) simplify(op Op, args []int) (int, bool) {
	if op != OpAnd && op != OpOr {
		return 0, false
	}
	for i, a := range args {
		v, ok := b.constant(a)
		if !ok || !v.Valid() {
			continue
		}
		if v.Bool() == (op == OpAnd) {
			return args[1-i], true
		}
		return a, true
	}
	return 0, false
}
