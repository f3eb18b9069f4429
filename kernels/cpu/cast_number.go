package cpu

import (
	"errors"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func isValueError(err error) bool { return errors.Is(err, device.ErrValue) }

// checked runs loop over a span, and where it says that some value does not
// fit, casts the rows one by one to find the first that is under no null.
func checked(o *out, r *rowErrors, c *memory.Column, to arrow.DataType, opts kernels.CastOptions, loop func(s span) (bad bool)) func(int, span) error {
	valid := o.valid()
	return func(_ int, s span) error {
		if !loop(s) || opts.Wrap {
			return nil
		}
		for i := s.from; i < s.to; i++ {
			if !rowIn(valid, i) {
				continue
			}
			if _, err := kernels.CastScalar(kernels.ScalarAt(c, i), to, opts); err != nil {
				return r.at(i, err)
			}
		}
		return nil
	}
}

// castNumbers converts between integers, floats and temporal values.
func castNumbers(o *out, r *rowErrors, c *memory.Column, to arrow.DataType, opts kernels.CastOptions) func(int, span) error {
	var loop func(s span) bool
	switch storageID(c.Type()) {
	case arrow.INT8:
		loop = fromInteger[int8](o, c, to)
	case arrow.INT16:
		loop = fromInteger[int16](o, c, to)
	case arrow.INT32:
		loop = fromInteger[int32](o, c, to)
	case arrow.INT64:
		loop = fromInteger[int64](o, c, to)
	case arrow.UINT8:
		loop = fromInteger[uint8](o, c, to)
	case arrow.UINT16:
		loop = fromInteger[uint16](o, c, to)
	case arrow.UINT32:
		loop = fromInteger[uint32](o, c, to)
	case arrow.UINT64:
		loop = fromInteger[uint64](o, c, to)
	case arrow.FLOAT32:
		loop = fromFloat[float32](o, c, to)
	default:
		loop = fromFloat[float64](o, c, to)
	}
	return checked(o, r, c, to, opts, loop)
}

func fromInteger[F integer](o *out, c *memory.Column, to arrow.DataType) func(s span) bool {
	switch storageID(to) {
	case arrow.INT8:
		return integerToInteger[F, int8](o, c)
	case arrow.INT16:
		return integerToInteger[F, int16](o, c)
	case arrow.INT32:
		return integerToInteger[F, int32](o, c)
	case arrow.INT64:
		return integerToInteger[F, int64](o, c)
	case arrow.UINT8:
		return integerToInteger[F, uint8](o, c)
	case arrow.UINT16:
		return integerToInteger[F, uint16](o, c)
	case arrow.UINT32:
		return integerToInteger[F, uint32](o, c)
	case arrow.UINT64:
		return integerToInteger[F, uint64](o, c)
	case arrow.FLOAT32:
		return integerToFloat[F, float32](o, c)
	default:
		return integerToFloat[F, float64](o, c)
	}
}

func fromFloat[F float](o *out, c *memory.Column, to arrow.DataType) func(s span) bool {
	switch storageID(to) {
	case arrow.INT8:
		return floatToInteger[F, int8](o, c)
	case arrow.INT16:
		return floatToInteger[F, int16](o, c)
	case arrow.INT32:
		return floatToInteger[F, int32](o, c)
	case arrow.INT64:
		return floatToInteger[F, int64](o, c)
	case arrow.UINT8:
		return floatToInteger[F, uint8](o, c)
	case arrow.UINT16:
		return floatToInteger[F, uint16](o, c)
	case arrow.UINT32:
		return floatToInteger[F, uint32](o, c)
	case arrow.UINT64:
		return floatToInteger[F, uint64](o, c)
	case arrow.FLOAT32:
		return floatToFloat[F, float32](o, c)
	default:
		return floatToFloat[F, float64](o, c)
	}
}

func integerToInteger[F, T integer](o *out, c *memory.Column) func(s span) bool {
	src, dst := memory.Values[F](c), view[T](o, 1)
	return func(s span) bool {
		x, y := src[s.from:s.to], dst[s.from:s.to]
		y = y[:len(x)]
		var bad byte
		for i, v := range x {
			t := T(v)
			y[i] = t
			bad |= bit(F(t) != v) | (bit(v < 0) ^ bit(t < 0))
		}
		return bad != 0
	}
}

func integerToFloat[F integer, T float](o *out, c *memory.Column) func(s span) bool {
	src, dst := memory.Values[F](c), view[T](o, 1)
	_, above := limits[F]()
	return func(s span) bool {
		x, y := src[s.from:s.to], dst[s.from:s.to]
		y = y[:len(x)]
		var bad byte
		for i, v := range x {
			t := T(v)
			y[i] = t
			if float64(t) >= above { // rounded up past the greatest: it does not convert back
				bad = 1
			} else {
				bad |= bit(F(t) != v)
			}
		}
		return bad != 0
	}
}

// limits are the least value of an integer type and the power of two above its
// greatest, both exact as floats.
func limits[T integer]() (least, above float64) {
	var zero T
	bits := float64(8 * unsafe.Sizeof(zero))
	if zero-1 > 0 {
		return 0, math.Exp2(bits)
	}
	return -math.Exp2(bits - 1), math.Exp2(bits - 1)
}

func floatToInteger[F float, T integer](o *out, c *memory.Column) func(s span) bool {
	src, dst := memory.Values[F](c), view[T](o, 1)
	least, above := limits[T]()
	var greatest T
	greatest--
	if greatest < 0 { // signed: all bits but the highest
		greatest = T(uint64(math.MaxInt64) >> (64 - 8*unsafe.Sizeof(greatest)))
	}
	lowest := T(0)
	if least < 0 {
		lowest = -greatest - 1
	}
	return func(s span) bool {
		x, y := src[s.from:s.to], dst[s.from:s.to]
		y = y[:len(x)]
		bad := false
		for i, v := range x {
			whole := math.Trunc(float64(v))
			if whole >= least && whole < above {
				y[i] = T(whole)
				bad = bad || whole != float64(v)
				continue
			}
			bad = true
			switch {
			case whole >= above:
				y[i] = greatest
			case whole < least:
				y[i] = lowest
			default: // NaN
				y[i] = 0
			}
		}
		return bad
	}
}

func floatToFloat[F, T float](o *out, c *memory.Column) func(s span) bool {
	src, dst := memory.Values[F](c), view[T](o, 1)
	return func(s span) bool {
		x, y := src[s.from:s.to], dst[s.from:s.to]
		y = y[:len(x)]
		var bad byte
		for i, v := range x {
			t := T(v)
			y[i] = t
			bad |= bit(math.Abs(float64(t)) > math.MaxFloat64) &^ bit(math.Abs(float64(v)) > math.MaxFloat64)
		}
		return bad != 0
	}
}

// castBits makes 0 and 1 of bools.
func castBits(o *out, c *memory.Column, to arrow.DataType) func(int, span) error {
	switch to.ID() {
	case arrow.INT8, arrow.UINT8:
		return spread[uint8](o, c, 1)
	case arrow.INT16, arrow.UINT16:
		return spread[uint16](o, c, 1)
	case arrow.INT32, arrow.UINT32:
		return spread[uint32](o, c, 1)
	case arrow.INT64, arrow.UINT64:
		return spread[uint64](o, c, 1)
	case arrow.FLOAT32:
		return spread(o, c, float32(1))
	default:
		return spread(o, c, float64(1))
	}
}

func spread[T number](o *out, c *memory.Column, one T) func(int, span) error {
	dst, bits, offset := view[T](o, 1), c.Bits(), c.Offset()
	return func(_ int, s span) error {
		for i := s.from; i < s.to; i += 64 {
			n := min(64, s.to-i)
			w := bits.Word(offset+i, n)
			run := dst[i : i+n]
			for k := range run {
				run[k] = one * T(w>>uint(k)&1)
			}
		}
		return nil
	}
}
