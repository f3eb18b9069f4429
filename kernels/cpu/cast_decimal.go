package cpu

import (
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// castDecimals changes scale and precision, and makes decimals of integers, and
// integers and float64 of decimals: blocks as integers of 64 bits where bounds prove
// that all fit, else row by row. Other pairs of types have no loop.
func (l *loops) castDecimals(o *out, r *rowErrors, c *memory.Column, to arrow.DataType, opts kernels.CastOptions) func(int, span) error {
	slow := func(i int64) (kernels.Scalar, error) {
		return kernels.CastScalar(kernels.ScalarAt(c, i), to, opts)
	}
	from, wasDecimal := c.Type().(*arrow.Decimal128Type)
	into, isDecimal := to.(*arrow.Decimal128Type)
	switch {
	case wasDecimal && isDecimal && into.Scale >= from.Scale:
		src := memory.Values[decimal](c)
		rows := scaleRows(o, r, func(i int64) decimal { return src[i] }, into.Scale-from.Scale, into.Precision, slow)
		return l.scaleBlocks(o, l.decimalsOf(c), into.Scale-from.Scale, into.Precision, rows)
	case wasDecimal && isDecimal:
		return l.cutBlocks(c, from.Scale-into.Scale, storedRows(o, r, to, slow), func(v []int64, longest int, from, to int64) bool {
			if !l.digitsHold(v, longest, into.Precision) {
				return false
			}
			l.decimal.widen(view[[2]uint64](o, 1)[from:to], v)
			return true
		})
	case isDecimal && into.Scale >= 0 && kernels.IntegerTypes.Has(c.Type().ID()):
		rows := scaleRows(o, r, integerAt(c), into.Scale, into.Precision, slow)
		return l.scaleBlocks(o, l.integersOf(c), into.Scale, into.Precision, rows)
	case wasDecimal && kernels.IntegerTypes.Has(to.ID()) && from.Scale >= 0:
		convert, width := l.castLanes(arrow.INT64, to.ID()), int64(memory.Width(to))
		return l.cutBlocks(c, from.Scale, storedRows(o, r, to, slow), func(v []int64, _ int, from, _ int64) bool {
			dst := o.parts.Buffers[1].Bytes()[from*width:]
			return !convert(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(v)), int64(len(v)))
		})
	case wasDecimal && to.ID() == arrow.FLOAT64 && from.Scale >= 0 && from.Scale <= 22:
		return l.floatBlocks(o, c, math.Pow10(int(from.Scale)), floatRows(o, r, c, math.Pow10(int(from.Scale)), slow))
	default:
		return nil
	}
}

// blockRows computes rows [from, to) one by one.
type blockRows func(from, to int64) error

// storedRows stores the value that get gives for each row that is not null.
func storedRows(o *out, r *rowErrors, to arrow.DataType, get func(i int64) (kernels.Scalar, error)) blockRows {
	store := storeRows(o, r, to, get)
	return func(from, to int64) error { return store(0, span{from: from, to: to}) }
}

// integerBlocks gives rows [from, to) as integers, and the bits of the longest; it
// fails where one does not fit.
type integerBlocks func(room *narrowRoom, from, to int64) (v []int64, longest int, ok bool)

func (l *loops) decimalsOf(c *memory.Column) integerBlocks {
	src := memory.Values[[2]uint64](c)
	return func(room *narrowRoom, from, to int64) ([]int64, int, bool) { return l.narrow(room, src[from:to]) }
}

func (l *loops) integersOf(c *memory.Column) integerBlocks {
	convert, width := l.castLanes(storageID(c.Type()), arrow.INT64), int64(memory.Width(c.Type()))
	longest := int(8 * width)
	if kernels.SignedTypes.Has(c.Type().ID()) {
		longest--
	}
	return func(room *narrowRoom, from, to int64) ([]int64, int, bool) {
		v := room[:to-from]
		src := c.Buffer(1).Bytes()[(c.Offset()+from)*width:]
		if convert(unsafe.Pointer(room), unsafe.Pointer(unsafe.SliceData(src)), to-from) {
			return nil, 0, false
		}
		if longest >= 63 {
			low, high := l.reduce.i64.extremes(v, v[0], v[0])
			return v, max(lengthOf(low), lengthOf(high)), true
		}
		return v, longest, true
	}
}

// scaleBlocks multiplies by a power of ten.
func (l *loops) scaleBlocks(o *out, of integerBlocks, digits, precision int32, rows blockRows) func(int, span) error {
	dst := view[[2]uint64](o, 1)
	power, powerLen, ok := powerBits(digits)
	if digits == 0 {
		powerLen = 0
	}
	return func(_ int, s span) error {
		if !ok {
			return rows(s.from, s.to)
		}
		var room narrowRoom
		return eachBlock(s, func(from, to int64) error {
			v, longest, ok := of(&room, from, to)
			if !ok || longest+powerLen > narrowBits {
				return rows(from, to)
			}
			if digits > 0 {
				l.arithmetic.i64.right[kernels.Multiply](v, v, power)
			}
			if !l.digitsHold(v, longest+powerLen, precision) {
				return rows(from, to)
			}
			l.decimal.widen(dst[from:to], v)
			return nil
		})
	}
}

// cutBlocks divides decimals by a power of ten, where nothing is left of any, and puts the
// quotients; put fails where one does not fit.
func (l *loops) cutBlocks(c *memory.Column, digits int32, rows blockRows, put func(v []int64, longest int, from, to int64) bool) func(int, span) error {
	of := l.decimalsOf(c)
	power, _, ok := powerBits(digits)
	return func(_ int, s span) error {
		if !ok {
			return rows(s.from, s.to)
		}
		var room narrowRoom
		return eachBlock(s, func(from, to int64) error {
			v, longest, ok := of(&room, from, to)
			rest := int64(0)
			for i, x := range v {
				v[i] = x / power
				rest |= x - v[i]*power
			}
			if !ok || rest != 0 || !put(v, longest, from, to) {
				return rows(from, to)
			}
			return nil
		})
	}
}

// exactFloat is the bits of integers that float64 holds: divided by a power of ten
// that it holds, they are rounded once.
const exactFloat = 53

// floatBlocks makes float64 of decimals.
func (l *loops) floatBlocks(o *out, c *memory.Column, by float64, rows blockRows) func(int, span) error {
	of, dst := l.decimalsOf(c), view[float64](o, 1)
	return func(_ int, s span) error {
		var room narrowRoom
		return eachBlock(s, func(from, to int64) error {
			v, longest, ok := of(&room, from, to)
			if !ok || longest > exactFloat {
				return rows(from, to)
			}
			run := dst[from:to]
			l.convert.i64ToF64(run, v)
			l.arithmetic.f64.right[kernels.Divide](run, run, by)
			return nil
		})
	}
}

// floatRows has what float64 holds divided, and the rest cast by their digits.
func floatRows(o *out, r *rowErrors, c *memory.Column, by float64, slow func(i int64) (kernels.Scalar, error)) blockRows {
	src, dst, valid := memory.Values[decimal](c), view[float64](o, 1), o.valid()
	return func(from, to int64) error {
		for i := from; i < to; i++ {
			if m := src[i].magnitude(); m.hi == 0 && m.lo <= 1<<exactFloat {
				dst[i] = float64(int64(src[i].lo)) / by
			} else if rowIn(valid, i) {
				v, err := slow(i)
				if err != nil {
					return r.at(i, err)
				}
				dst[i] = v.Float64()
			}
		}
		return nil
	}
}

// integerAt reads an integer column as decimals of scale 0.
func integerAt(c *memory.Column) func(i int64) decimal {
	switch c.Type().ID() {
	case arrow.UINT64:
		src := memory.Values[uint64](c)
		return func(i int64) decimal { return decimal{src[i], 0} }
	case arrow.INT64:
		src := memory.Values[int64](c)
		return func(i int64) decimal { return decimal{uint64(src[i]), uint64(src[i] >> 63)} }
	}
	return func(i int64) decimal {
		v := kernels.ScalarAt(c, i).Int64()
		return decimal{uint64(v), uint64(v >> 63)}
	}
}

// scaleRows multiplies by a power of ten; what does not fit goes the slow way.
func scaleRows(o *out, r *rowErrors, at func(i int64) decimal, digits, precision int32, slow func(i int64) (kernels.Scalar, error)) blockRows {
	dst, valid := view[decimal](o, 1), o.valid()
	return func(from, to int64) error {
		for i := from; i < to; i++ {
			if !rowIn(valid, i) {
				continue
			}
			v, ok := at(i).scaleUp(digits)
			if !ok || !v.fits(precision) {
				full, err := slow(i)
				if err != nil {
					return r.at(i, err)
				}
				v = decimalOf(full)
			}
			dst[i] = v
		}
		return nil
	}
}
