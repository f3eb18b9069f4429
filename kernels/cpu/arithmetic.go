package cpu

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// arithmeticColumns is the CPU's ArithmeticFunc.
func (l *loops) arithmeticColumns(ctx context.Context, s device.Stream, op kernels.ArithmeticOp, x, y kernels.Datum, opts kernels.ArithmeticOptions) (*memory.Column, error) {
	t, err := kernels.ArithmeticType(op, x.Type(), y.Type())
	if err != nil {
		return nil, err
	}
	a, b := operandOf(x), operandOf(y)
	n := rowsOf(a, b)
	if a.null() || b.null() {
		return nullColumn(s, t, n)
	}
	for _, side := range []*operand{&a, &b} {
		release, err := side.inUnitOf(ctx, l, s, t, opts)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	o := newOut(s, t, n)
	if err = o.nullsOf(a.col, b.col); err == nil {
		err = o.values()
	}
	if err != nil {
		return o.column(err)
	}
	r := &rowErrors{}
	var work func(int, span) error
	switch storageID(t) {
	case arrow.INT8:
		work = signedArithmetic[int8](l, o, r, op, a, b, opts)
	case arrow.INT16:
		work = signedArithmetic[int16](l, o, r, op, a, b, opts)
	case arrow.INT32:
		work = signedArithmetic[int32](l, o, r, op, a, b, opts)
	case arrow.INT64:
		work = signedArithmetic[int64](l, o, r, op, a, b, opts)
	case arrow.UINT8:
		work = unsignedArithmetic[uint8](l, o, r, op, a, b, opts)
	case arrow.UINT16:
		work = unsignedArithmetic[uint16](l, o, r, op, a, b, opts)
	case arrow.UINT32:
		work = unsignedArithmetic[uint32](l, o, r, op, a, b, opts)
	case arrow.UINT64:
		work = unsignedArithmetic[uint64](l, o, r, op, a, b, opts)
	case arrow.FLOAT32:
		work = floatArithmetic[float32](l, o, r, op, a, b)
	case arrow.FLOAT64:
		work = floatArithmetic[float64](l, o, r, op, a, b)
	default:
		work = decimalArithmetic(l, o, r, op, a, b)
	}
	return o.column(r.of(parallel(ctx, n, work)))
}

// inUnitOf makes dates and 32-bit times the 64-bit numbers that a temporal
// result is computed from.
func (o *operand) inUnitOf(ctx context.Context, l *loops, s device.Stream, t arrow.DataType, opts kernels.ArithmeticOptions) (release func(), err error) {
	from := o.val.Type()
	if o.col != nil {
		from = o.col.Type()
	}
	var as arrow.DataType
	switch from.ID() {
	case arrow.DATE32, arrow.DATE64:
		as = &arrow.TimestampType{Unit: kernels.UnitOf(t)}
	case arrow.TIME32:
		as = arrow.PrimitiveTypes.Int64
	default:
		return func() {}, nil
	}
	wrap := kernels.CastOptions{Wrap: !opts.Checked}
	if o.col == nil {
		o.val, err = kernels.CastScalar(o.val, as, wrap)
		return func() {}, err
	}
	c, err := l.cast(ctx, s, o.col, as, wrap)
	if err != nil {
		return nil, err
	}
	o.col = c
	return c.Release, nil
}

// sides are the operands of a loop: of a scalar side v, else x.
type sides[T any] struct {
	a, b   []T // nil for a scalar
	va, vb T
}

func sidesOf[T number](a, b operand) sides[T] {
	var s sides[T]
	if a.col != nil {
		s.a = memory.Values[T](a.col)
	} else {
		s.va = scalarAs[T](a.val)
	}
	if b.col != nil {
		s.b = memory.Values[T](b.col)
	} else {
		s.vb = scalarAs[T](b.val)
	}
	return s
}

// each runs f over the rows of a span with both sides as slices: a scalar side
// is a block of copies that stays in the first-level cache.
func (v sides[T]) each(s span, dst []T, f func(dst, a, b []T) bool) (bad bool) {
	if v.a != nil && v.b != nil {
		return f(dst[s.from:s.to], v.a[s.from:s.to], v.b[s.from:s.to])
	}
	var copies [rowBlock]T
	value := v.va
	if v.a != nil {
		value = v.vb
	}
	for i := range copies {
		copies[i] = value
	}
	blocks(s, func(from, to int64) {
		a, b := copies[:to-from], copies[:to-from]
		if v.a != nil {
			a = v.a[from:to]
		} else {
			b = v.b[from:to]
		}
		if f(dst[from:to], a, b) {
			bad = true
		}
	})
	return bad
}

func signedArithmetic[T signed](l *loops, o *out, r *rowErrors, op kernels.ArithmeticOp, a, b operand, opts kernels.ArithmeticOptions) func(int, span) error {
	switch {
	case op == kernels.Modulo:
		return careful(o, r, op, a, b, moduloIntegers[T])
	case op == kernels.Divide && opts.Checked:
		return careful(o, r, op, a, b, divideSigned[T])
	case op == kernels.Divide:
		return careful(o, r, op, a, b, divideIntegers[T])
	case opts.Checked && op == kernels.Multiply:
		return careful(o, r, op, a, b, multiplySigned[T])
	case opts.Checked:
		return careful(o, r, op, a, b, arithmeticsOf[T](l).checked[op])
	default:
		return wrapping[T](l, o, op, a, b)
	}
}

func unsignedArithmetic[T unsigned](l *loops, o *out, r *rowErrors, op kernels.ArithmeticOp, a, b operand, opts kernels.ArithmeticOptions) func(int, span) error {
	switch {
	case op == kernels.Modulo:
		return careful(o, r, op, a, b, moduloIntegers[T])
	case op == kernels.Divide:
		return careful(o, r, op, a, b, divideIntegers[T])
	case opts.Checked && op == kernels.Multiply:
		return careful(o, r, op, a, b, multiplyUnsigned[T])
	case opts.Checked:
		return careful(o, r, op, a, b, arithmeticsOf[T](l).checked[op])
	default:
		return wrapping[T](l, o, op, a, b)
	}
}

func floatArithmetic[T float](l *loops, o *out, r *rowErrors, op kernels.ArithmeticOp, a, b operand) func(int, span) error {
	if op == kernels.Modulo {
		return careful(o, r, op, a, b, moduloFloats[T])
	}
	return wrapping[T](l, o, op, a, b)
}

// wrapping runs the loops that look for nothing: those of Add, Subtract and
// Multiply, and of floats Divide.
func wrapping[T number](l *loops, o *out, op kernels.ArithmeticOp, a, b operand) func(int, span) error {
	dst, v, by := view[T](o, 1), sidesOf[T](a, b), arithmeticsOf[T](l)
	if v.a == nil && by.left[op] == nil { // it commutes
		v.a, v.b, v.vb = v.b, nil, v.va
	}
	columns, right, left := by.columns[op], by.right[op], by.left[op]
	return func(_ int, s span) error {
		switch run := dst[s.from:s.to]; {
		case v.a == nil:
			left(run, v.va, v.b[s.from:s.to])
		case v.b == nil:
			right(run, v.a[s.from:s.to], v.vb)
		default:
			columns(run, v.a[s.from:s.to], v.b[s.from:s.to])
		}
		return nil
	}
}

// careful runs a loop that tells when something is amiss, and then looks for
// the first row of the span where that is under no null.
func careful[T number](o *out, r *rowErrors, op kernels.ArithmeticOp, a, b operand, f func(dst, a, b []T) bool) func(int, span) error {
	dst, v, valid := view[T](o, 1), sidesOf[T](a, b), o.valid()
	return func(_ int, s span) error {
		if !v.each(s, dst, f) {
			return nil
		}
		for i := s.from; i < s.to; i++ {
			x, y := [1]T{v.va}, [1]T{v.vb}
			if v.a != nil {
				x[0] = v.a[i]
			}
			if v.b != nil {
				y[0] = v.b[i]
			}
			var z [1]T
			if rowIn(valid, i) && f(z[:], x[:], y[:]) {
				return r.at(i, arithmeticError(op, fmt.Sprint(x[0]), fmt.Sprint(y[0]), y[0] == 0, o.parts.Type))
			}
		}
		return nil
	}
}

func arithmeticError(op kernels.ArithmeticOp, x, y string, zero bool, t arrow.DataType) error {
	if zero && (op == kernels.Divide || op == kernels.Modulo) {
		return badValue("%s %s 0: division by zero", x, op)
	}
	return badValue("%s %s %s overflows %s", x, op, y, t)
}
