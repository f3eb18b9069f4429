package cpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// evalTypes are the loops for numbers, by the type that they are stored as.
var evalTypes = map[arrow.Type]evalType{
	arrow.INT8: evalSigned[int8]{}, arrow.INT16: evalSigned[int16]{}, arrow.INT32: evalSigned[int32]{}, arrow.INT64: evalSigned[int64]{},
	arrow.UINT8: evalUnsigned[uint8]{}, arrow.UINT16: evalUnsigned[uint16]{}, arrow.UINT32: evalUnsigned[uint32]{}, arrow.UINT64: evalUnsigned[uint64]{},
	arrow.FLOAT32: evalFloat[float32]{}, arrow.FLOAT64: evalFloat[float64]{},
}

// evalType has the loops for one type of numbers.
type evalType interface {
	arithmetic(p *evalPlan, i int) evalLoop
	compare(p *evalPlan, i int) evalLoop
	differs(p *evalPlan, i, x int) evalLoop // step i is where x is not itself
	unary(p *evalPlan, i int) evalLoop
}

type evalSigned[T signed] struct{ evalNumber[T] }

type evalUnsigned[T unsigned] struct{ evalNumber[T] }

type evalFloat[T float] struct{ evalNumber[T] }

type evalNumber[T number] struct{}

// plainLoop reports whether arithmetic looks for nothing: any row has a result.
func plainLoop(st kernels.Step) bool {
	if kernels.FloatTypes.Has(st.Type.ID()) {
		return kernels.ArithmeticOp(st.Op) != kernels.Modulo
	}
	return !st.Checked && kernels.ArithmeticOp(st.Op) <= kernels.Multiply
}

func (evalSigned[T]) arithmetic(p *evalPlan, i int) evalLoop {
	st := p.program.Steps[i]
	switch op := kernels.ArithmeticOp(st.Op); {
	case plainLoop(st):
		return evalPlain[T](p, i)
	case op == kernels.Modulo:
		return evalCareful(p, i, moduloIntegers[T])
	case op == kernels.Divide && st.Checked:
		return evalCareful(p, i, divideSigned[T])
	case op == kernels.Divide:
		return evalCareful(p, i, divideIntegers[T])
	case op == kernels.Multiply:
		return evalCareful(p, i, multiplySigned[T])
	default:
		return evalCareful(p, i, arithmeticsOf[T](p.l).checked[op])
	}
}

func (evalUnsigned[T]) arithmetic(p *evalPlan, i int) evalLoop {
	st := p.program.Steps[i]
	switch op := kernels.ArithmeticOp(st.Op); {
	case plainLoop(st):
		return evalPlain[T](p, i)
	case op == kernels.Modulo:
		return evalCareful(p, i, moduloIntegers[T])
	case op == kernels.Divide:
		return evalCareful(p, i, divideIntegers[T])
	case op == kernels.Multiply:
		return evalCareful(p, i, multiplyUnsigned[T])
	default:
		return evalCareful(p, i, arithmeticsOf[T](p.l).checked[op])
	}
}

func (evalFloat[T]) arithmetic(p *evalPlan, i int) evalLoop {
	if plainLoop(p.program.Steps[i]) {
		return evalPlain[T](p, i)
	}
	return evalCareful(p, i, moduloFloats[T])
}

// constant is the value of a step that is a scalar and not null.
func (p *evalPlan) constant(i int) (v kernels.Scalar, ok bool) {
	st := p.program.Steps[i]
	return st.Value, st.Kind == kernels.StepScalar && st.Value.Valid()
}

// evalPlain is arithmetic of which every row has a result.
func evalPlain[T number](p *evalPlan, i int) evalLoop {
	st, by := p.program.Steps[i], arithmeticsOf[T](p.l)
	x, y := st.Args[0], st.Args[1]
	if _, ok := p.constant(x); ok && by.left[st.Op] == nil { // it commutes
		x, y = y, x
	}
	if c, ok := p.constant(y); ok {
		p.copied(x)
		v, loop := scalarAs[T](c), by.right[st.Op]
		return func(b *evalBlock) bool {
			loop(stepValues[T](b, i), stepValues[T](b, x), v)
			return true
		}
	}
	p.copied(y)
	if c, ok := p.constant(x); ok {
		v, loop := scalarAs[T](c), by.left[st.Op]
		return func(b *evalBlock) bool {
			loop(stepValues[T](b, i), v, stepValues[T](b, y))
			return true
		}
	}
	p.copied(x)
	loop := by.columns[st.Op]
	return func(b *evalBlock) bool {
		loop(stepValues[T](b, i), stepValues[T](b, x), stepValues[T](b, y))
		return true
	}
}

// evalCareful has a loop that tells when something is amiss, and then looks
// whether that is under no null.
func evalCareful[T number](p *evalPlan, i int, loop func(dst, a, b []T) bool) evalLoop {
	args := p.args(i)
	return func(b *evalBlock) bool {
		to, x, y := stepValues[T](b, i), stepValues[T](b, args[0]), stepValues[T](b, args[1])
		if !loop(to, x, y) {
			return true
		}
		for k := range b.n {
			if !b.isNull(i, k) && loop(to[k:k+1], x[k:k+1], y[k:k+1]) {
				return false
			}
		}
		return true
	}
}

func (evalNumber[T]) compare(p *evalPlan, i int) evalLoop {
	st, by := p.program.Steps[i], comparisonsOf[T](p.l)
	x, y, op := st.Args[0], st.Args[1], kernels.CompareOp(st.Op)
	if _, ok := p.constant(x); ok {
		x, y, op = y, x, op.Swapped()
	}
	p.copied(x)
	if c, ok := p.constant(y); ok {
		v, loop := scalarAs[T](c), by.scalar[op]
		return func(b *evalBlock) bool {
			loop(b.bitmap(i), stepValues[T](b, x), v)
			return true
		}
	}
	p.copied(y)
	switch op {
	case kernels.Greater, kernels.GreaterEqual:
		x, y, op = y, x, op.Swapped()
	}
	loop := by.columns[op]
	return func(b *evalBlock) bool {
		loop(b.bitmap(i), stepValues[T](b, x), stepValues[T](b, y))
		return true
	}
}

func (evalNumber[T]) differs(p *evalPlan, i, x int) evalLoop {
	loop := comparisonsOf[T](p.l).columns[kernels.NotEqual]
	return func(b *evalBlock) bool {
		loop(b.bitmap(i), stepValues[T](b, x), stepValues[T](b, x))
		return true
	}
}

// evalUnary has a loop from T to R that may tell of values without result.
func evalUnary[T, R number](p *evalPlan, i int, loop func(dst []R, a []T) bool) evalLoop {
	x, checked := p.args(i)[0], p.program.Steps[i].Checked
	return func(b *evalBlock) bool {
		to, from := stepValues[R](b, i), stepValues[T](b, x)
		if !loop(to, from) || !checked {
			return true
		}
		for k := range b.n {
			if !b.isNull(i, k) && loop(to[k:k+1], from[k:k+1]) {
				return false
			}
		}
		return true
	}
}

func (evalSigned[T]) unary(p *evalPlan, i int) evalLoop {
	switch op := kernels.UnaryOp(p.program.Steps[i].Op); op {
	case kernels.Negate, kernels.Abs:
		return evalUnary(p, i, unariesOf[T](p.l).signed[op])
	case kernels.Sign:
		return evalUnary(p, i, signsOfSigned[T])
	default:
		return evalOfInteger[T](p, i, op)
	}
}

func (evalUnsigned[T]) unary(p *evalPlan, i int) evalLoop {
	switch op := kernels.UnaryOp(p.program.Steps[i].Op); op {
	case kernels.Negate:
		return evalUnary(p, i, negateUnsigned[T])
	case kernels.Abs:
		return p.copy(i, p.program.Steps[i].Args[0])
	case kernels.Sign:
		return evalUnary(p, i, signsOfUnsigned[T])
	default:
		return evalOfInteger[T](p, i, op)
	}
}

func (evalFloat[T]) unary(p *evalPlan, i int) evalLoop {
	loop := unariesOf[T](p.l).float[p.program.Steps[i].Op]
	return evalUnary(p, i, func(dst, a []T) bool {
		loop(dst, a)
		return false
	})
}

// evalOfInteger is a function of float64 of whole numbers, which rounding leaves
// as they are.
func evalOfInteger[T integer](p *evalPlan, i int, op kernels.UnaryOp) evalLoop {
	if op >= kernels.Floor {
		return p.copy(i, p.program.Steps[i].Args[0])
	}
	convert, loop := converterOf(p.l, integersToFloats[T, float64]), unariesOf[float64](p.l).float[op]
	return evalUnary(p, i, func(dst []float64, a []T) bool {
		convert(dst, a)
		loop(dst, dst)
		return false
	})
}
