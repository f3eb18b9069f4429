package cpu

import (
	"context"
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// unaryColumn is the CPU's UnaryFunc.
func (l *loops) unaryColumn(ctx context.Context, s device.Stream, op kernels.UnaryOp, c *memory.Column, opts kernels.ArithmeticOptions) (*memory.Column, error) {
	t, err := kernels.UnaryType(op, c.Type())
	if err != nil {
		return nil, err
	}
	id := storageID(c.Type())
	if kernels.IntegerTypes.Has(id) && op >= kernels.Floor {
		return c.Slice(0, c.Len()) // integers are whole
	}
	if kernels.IntegerTypes.Has(id) && op >= kernels.Sqrt {
		f, err := l.cast(ctx, s, c, t, kernels.CastOptions{Wrap: true})
		if err != nil {
			return nil, err
		}
		defer f.Release()
		return l.unaryColumn(ctx, s, op, f, opts)
	}
	o := newOut(s, t, c.Len())
	if err = o.nullsOf(c); err == nil {
		err = o.values()
	}
	if err != nil {
		return o.column(err)
	}
	r := &rowErrors{}
	var work func(int, span) error
	switch id {
	case arrow.INT8:
		work = signedUnary[int8](l, o, r, op, c, opts)
	case arrow.INT16:
		work = signedUnary[int16](l, o, r, op, c, opts)
	case arrow.INT32:
		work = signedUnary[int32](l, o, r, op, c, opts)
	case arrow.INT64:
		work = signedUnary[int64](l, o, r, op, c, opts)
	case arrow.UINT8:
		work = unsignedUnary[uint8](o, r, op, c, opts)
	case arrow.UINT16:
		work = unsignedUnary[uint16](o, r, op, c, opts)
	case arrow.UINT32:
		work = unsignedUnary[uint32](o, r, op, c, opts)
	case arrow.UINT64:
		work = unsignedUnary[uint64](o, r, op, c, opts)
	case arrow.FLOAT32:
		work = floatUnary[float32](l, o, op, c)
	case arrow.FLOAT64:
		work = floatUnary[float64](l, o, op, c)
	default:
		work = decimalUnary(o, r, op, c, opts)
	}
	return o.column(r.of(parallel(ctx, c.Len(), work)))
}

// refuse finds the first row of the span, under no null, that bad is true of.
func refuse[T any](o *out, r *rowErrors, op kernels.UnaryOp, src []T, s span, bad func(T) bool) error {
	valid := o.valid()
	for i := s.from; i < s.to; i++ {
		if rowIn(valid, i) && bad(src[i]) {
			return r.at(i, badValue("%s of %s overflows %s", op, fmt.Sprint(src[i]), o.parts.Type))
		}
	}
	return nil
}

func signedUnary[T signed](l *loops, o *out, r *rowErrors, op kernels.UnaryOp, c *memory.Column, opts kernels.ArithmeticOptions) func(int, span) error {
	src := memory.Values[T](c)
	if op == kernels.Sign {
		dst := view[int8](o, 1)
		return func(_ int, s span) error {
			signsOfSigned(dst[s.from:s.to], src[s.from:s.to])
			return nil
		}
	}
	dst, loop := view[T](o, 1), unariesOf[T](l).signed[op]
	return func(_ int, s span) error {
		x, y := src[s.from:s.to], dst[s.from:s.to]
		if least := loop(y, x); opts.Checked && least {
			return refuse(o, r, op, src, s, func(v T) bool { return v < 0 && -v < 0 })
		}
		return nil
	}
}

func unsignedUnary[T unsigned](o *out, r *rowErrors, op kernels.UnaryOp, c *memory.Column, opts kernels.ArithmeticOptions) func(int, span) error {
	src := memory.Values[T](c)
	if op == kernels.Sign {
		dst := view[int8](o, 1)
		return func(_ int, s span) error {
			signsOfUnsigned(dst[s.from:s.to], src[s.from:s.to])
			return nil
		}
	}
	dst := view[T](o, 1)
	return func(_ int, s span) error {
		x, y := src[s.from:s.to], dst[s.from:s.to]
		if op == kernels.Abs {
			copy(y, x)
			return nil
		}
		if some := negateUnsigned(y, x); opts.Checked && some {
			return refuse(o, r, op, src, s, func(v T) bool { return v != 0 })
		}
		return nil
	}
}

func floatUnary[T float](l *loops, o *out, op kernels.UnaryOp, c *memory.Column) func(int, span) error {
	src, dst, loop := memory.Values[T](c), view[T](o, 1), unariesOf[T](l).float[op]
	return func(_ int, s span) error {
		loop(dst[s.from:s.to], src[s.from:s.to])
		return nil
	}
}

func decimalUnary(o *out, r *rowErrors, op kernels.UnaryOp, c *memory.Column, opts kernels.ArithmeticOptions) func(int, span) error {
	src, valid := memory.Values[decimal](c), o.valid()
	if op == kernels.Sign {
		dst := view[int8](o, 1)
		return func(_ int, s span) error {
			for i := s.from; i < s.to; i++ {
				dst[i] = int8(compareDecimal(src[i], decimal{}))
			}
			return nil
		}
	}
	t := c.Type().(*arrow.Decimal128Type)
	dst := view[decimal](o, 1)
	return func(_ int, s span) error {
		for i := s.from; i < s.to; i++ {
			if !rowIn(valid, i) {
				continue
			}
			v, fits := src[i], true
			switch {
			case op == kernels.Negate || op == kernels.Abs && v.negative():
				v = v.negate()
			case op >= kernels.Floor && t.Scale > 0:
				v, fits = roundDecimal(op, v, t)
			}
			if opts.Checked && !(fits && v.fits(t.Precision)) {
				return r.at(i, badValue("%s of %s overflows %s", op, src[i].text(t), t))
			}
			dst[i] = v
		}
		return nil
	}
}

// roundDecimal rounds to a whole number; it fails where 128 bits do not hold
// that, and the result wraps.
func roundDecimal(op kernels.UnaryOp, v decimal, t *arrow.Decimal128Type) (decimal, bool) {
	unit := powers[t.Scale]
	_, rest, ok := v.over(unit)
	if !ok { // a unit of more than 64 bits
		_, r := new(big.Int).QuoRem(v.big(), unit.big(), new(big.Int))
		rest, _ = fromBig(r, 38)
	}
	whole, _ := v.plus(rest.negate()) // towards zero
	left, _ := unit.plus(rest.magnitude().negate())
	switch {
	case rest == decimal{}:
	case op == kernels.Floor && v.negative(),
		op == kernels.Round && v.negative() && compareDecimal(rest.magnitude(), left) >= 0:
		return whole.plus(unit.negate())
	case op == kernels.Ceil && !v.negative(),
		op == kernels.Round && !v.negative() && compareDecimal(rest, left) >= 0:
		return whole.plus(unit)
	}
	return whole, true
}
