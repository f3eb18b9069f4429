package cpu

import (
	"errors"
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
func castNumbers(l *loops, o *out, r *rowErrors, c *memory.Column, to arrow.DataType, opts kernels.CastOptions) func(int, span) error {
	loop := l.castLanes(storageID(c.Type()), storageID(to))
	in, width := int64(memory.Width(c.Type())), int64(memory.Width(to))
	return checked(o, r, c, to, opts, func(s span) bool {
		src, dst := c.Buffer(1).Bytes()[(c.Offset()+s.from)*in:], o.parts.Buffers[1].Bytes()[s.from*width:]
		return loop(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), s.to-s.from)
	})
}

// laneLoop converts n numbers, and reports whether one did not fit.
type laneLoop func(dst, src unsafe.Pointer, n int64) bool

// castLanes is the loop for two types of numbers.
func (l *loops) castLanes(from, to arrow.Type) laneLoop {
	switch from {
	case arrow.INT8:
		return fromInteger[int8](l, to)
	case arrow.INT16:
		return fromInteger[int16](l, to)
	case arrow.INT32:
		return fromInteger[int32](l, to)
	case arrow.INT64:
		return fromInteger[int64](l, to)
	case arrow.UINT8:
		return fromInteger[uint8](l, to)
	case arrow.UINT16:
		return fromInteger[uint16](l, to)
	case arrow.UINT32:
		return fromInteger[uint32](l, to)
	case arrow.UINT64:
		return fromInteger[uint64](l, to)
	case arrow.FLOAT32:
		return fromFloat[float32](l, to)
	default:
		return fromFloat[float64](l, to)
	}
}

func fromInteger[F integer](l *loops, to arrow.Type) laneLoop {
	switch to {
	case arrow.INT8:
		return onLanes(converterOf(l, convertIntegers[F, int8]))
	case arrow.INT16:
		return onLanes(converterOf(l, convertIntegers[F, int16]))
	case arrow.INT32:
		return onLanes(converterOf(l, convertIntegers[F, int32]))
	case arrow.INT64:
		return onLanes(converterOf(l, convertIntegers[F, int64]))
	case arrow.UINT8:
		return onLanes(converterOf(l, convertIntegers[F, uint8]))
	case arrow.UINT16:
		return onLanes(converterOf(l, convertIntegers[F, uint16]))
	case arrow.UINT32:
		return onLanes(converterOf(l, convertIntegers[F, uint32]))
	case arrow.UINT64:
		return onLanes(converterOf(l, convertIntegers[F, uint64]))
	case arrow.FLOAT32:
		return onLanes(converterOf(l, integersToFloats[F, float32]))
	default:
		return onLanes(converterOf(l, integersToFloats[F, float64]))
	}
}

func fromFloat[F float](l *loops, to arrow.Type) laneLoop {
	switch to {
	case arrow.INT8:
		return onLanes(converterOf(l, floatsToIntegers[F, int8]))
	case arrow.INT16:
		return onLanes(converterOf(l, floatsToIntegers[F, int16]))
	case arrow.INT32:
		return onLanes(converterOf(l, floatsToIntegers[F, int32]))
	case arrow.INT64:
		return onLanes(converterOf(l, floatsToIntegers[F, int64]))
	case arrow.UINT8:
		return onLanes(converterOf(l, floatsToIntegers[F, uint8]))
	case arrow.UINT16:
		return onLanes(converterOf(l, floatsToIntegers[F, uint16]))
	case arrow.UINT32:
		return onLanes(converterOf(l, floatsToIntegers[F, uint32]))
	case arrow.UINT64:
		return onLanes(converterOf(l, floatsToIntegers[F, uint64]))
	case arrow.FLOAT32:
		return onLanes(converterOf(l, convertFloats[F, float32]))
	default:
		return onLanes(converterOf(l, convertFloats[F, float64]))
	}
}

// onLanes is a loop over addresses.
func onLanes[F, T number](loop func(dst []T, src []F) bool) laneLoop {
	return func(dst, src unsafe.Pointer, n int64) bool { return loop(lanesAt[T](dst, n), lanesAt[F](src, n)) }
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
