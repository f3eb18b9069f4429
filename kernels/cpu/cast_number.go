package cpu

import (
	"errors"

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
func castNumbers(l *loops, o *out, r *rowErrors, c *memory.Column, to arrow.DataType, opts kernels.CastOptions) func(int, span) error {
	var loop func(s span) bool
	switch storageID(c.Type()) {
	case arrow.INT8:
		loop = fromInteger[int8](l, o, c, to)
	case arrow.INT16:
		loop = fromInteger[int16](l, o, c, to)
	case arrow.INT32:
		loop = fromInteger[int32](l, o, c, to)
	case arrow.INT64:
		loop = fromInteger[int64](l, o, c, to)
	case arrow.UINT8:
		loop = fromInteger[uint8](l, o, c, to)
	case arrow.UINT16:
		loop = fromInteger[uint16](l, o, c, to)
	case arrow.UINT32:
		loop = fromInteger[uint32](l, o, c, to)
	case arrow.UINT64:
		loop = fromInteger[uint64](l, o, c, to)
	case arrow.FLOAT32:
		loop = fromFloat[float32](l, o, c, to)
	default:
		loop = fromFloat[float64](l, o, c, to)
	}
	return checked(o, r, c, to, opts, loop)
}

func fromInteger[F integer](l *loops, o *out, c *memory.Column, to arrow.DataType) func(s span) bool {
	switch storageID(to) {
	case arrow.INT8:
		return converted(o, c, converterOf(l, convertIntegers[F, int8]))
	case arrow.INT16:
		return converted(o, c, converterOf(l, convertIntegers[F, int16]))
	case arrow.INT32:
		return converted(o, c, converterOf(l, convertIntegers[F, int32]))
	case arrow.INT64:
		return converted(o, c, converterOf(l, convertIntegers[F, int64]))
	case arrow.UINT8:
		return converted(o, c, converterOf(l, convertIntegers[F, uint8]))
	case arrow.UINT16:
		return converted(o, c, converterOf(l, convertIntegers[F, uint16]))
	case arrow.UINT32:
		return converted(o, c, converterOf(l, convertIntegers[F, uint32]))
	case arrow.UINT64:
		return converted(o, c, converterOf(l, convertIntegers[F, uint64]))
	case arrow.FLOAT32:
		return converted(o, c, converterOf(l, integersToFloats[F, float32]))
	default:
		return converted(o, c, converterOf(l, integersToFloats[F, float64]))
	}
}

func fromFloat[F float](l *loops, o *out, c *memory.Column, to arrow.DataType) func(s span) bool {
	switch storageID(to) {
	case arrow.INT8:
		return converted(o, c, converterOf(l, floatsToIntegers[F, int8]))
	case arrow.INT16:
		return converted(o, c, converterOf(l, floatsToIntegers[F, int16]))
	case arrow.INT32:
		return converted(o, c, converterOf(l, floatsToIntegers[F, int32]))
	case arrow.INT64:
		return converted(o, c, converterOf(l, floatsToIntegers[F, int64]))
	case arrow.UINT8:
		return converted(o, c, converterOf(l, floatsToIntegers[F, uint8]))
	case arrow.UINT16:
		return converted(o, c, converterOf(l, floatsToIntegers[F, uint16]))
	case arrow.UINT32:
		return converted(o, c, converterOf(l, floatsToIntegers[F, uint32]))
	case arrow.UINT64:
		return converted(o, c, converterOf(l, floatsToIntegers[F, uint64]))
	case arrow.FLOAT32:
		return converted(o, c, converterOf(l, convertFloats[F, float32]))
	default:
		return converted(o, c, converterOf(l, convertFloats[F, float64]))
	}
}

// converted has a loop take a span from c to o.
func converted[F, T number](o *out, c *memory.Column, loop func(dst []T, src []F) bool) func(s span) bool {
	src, dst := memory.Values[F](c), view[T](o, 1)
	return func(s span) bool { return loop(dst[s.from:s.to], src[s.from:s.to]) }
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
