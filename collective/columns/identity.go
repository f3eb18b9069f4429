package columns

import (
	"math"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/memory"
)

// identify puts the reduction's identity, which changes no value that it meets, in the
// place of values that are not valid.
func identify(t collective.Type, values *memory.Buffer, op collective.Op, valid func(i int64) bool) {
	switch t {
	case collective.Int8:
		fill(memory.View[int8](values), whole[int8](op, math.MinInt8, math.MaxInt8), valid)
	case collective.Int16:
		fill(memory.View[int16](values), whole[int16](op, math.MinInt16, math.MaxInt16), valid)
	case collective.Int32:
		fill(memory.View[int32](values), whole[int32](op, math.MinInt32, math.MaxInt32), valid)
	case collective.Int64:
		fill(memory.View[int64](values), whole[int64](op, math.MinInt64, math.MaxInt64), valid)
	case collective.Uint8:
		fill(memory.View[uint8](values), whole[uint8](op, 0, math.MaxUint8), valid)
	case collective.Uint16:
		fill(memory.View[uint16](values), whole[uint16](op, 0, math.MaxUint16), valid)
	case collective.Uint32:
		fill(memory.View[uint32](values), whole[uint32](op, 0, math.MaxUint32), valid)
	case collective.Uint64:
		fill(memory.View[uint64](values), whole[uint64](op, 0, math.MaxUint64), valid)
	case collective.Float32:
		fill(memory.View[float32](values), real[float32](op), valid)
	case collective.Float64:
		fill(memory.View[float64](values), real[float64](op), valid)
	}
}

func fill[T any](values []T, identity T, valid func(i int64) bool) {
	for i := range values {
		if !valid(int64(i)) {
			values[i] = identity
		}
	}
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// whole is the identity for integers, which lie between least and most.
func whole[T integer](op collective.Op, least, most T) T {
	switch op.String() {
	case collective.Prod.String():
		return 1
	case collective.Min.String():
		return most
	case collective.Max.String():
		return least
	case collective.And.String():
		return ^T(0)
	}
	return 0
}

// real is the identity for floats. That of a sum is -0: a sum of -0 and 0 would be 0 where
// the one value there is, is -0.
func real[T float32 | float64](op collective.Op) T {
	switch op.String() {
	case collective.Prod.String():
		return 1
	case collective.Min.String():
		return T(math.Inf(1))
	case collective.Max.String():
		return T(math.Inf(-1))
	}
	return T(math.Copysign(0, -1))
}

// divide makes averages of sums: integers are cut towards zero. Rows without a value stay.
func divide(t collective.Type, sums *memory.Buffer, counts []uint32) {
	switch t {
	case collective.Int8:
		quotients(memory.View[int8](sums), counts, func(x int8, n uint32) int8 { return int8(int64(x) / int64(n)) })
	case collective.Int16:
		quotients(memory.View[int16](sums), counts, func(x int16, n uint32) int16 { return int16(int64(x) / int64(n)) })
	case collective.Int32:
		quotients(memory.View[int32](sums), counts, func(x int32, n uint32) int32 { return int32(int64(x) / int64(n)) })
	case collective.Int64:
		quotients(memory.View[int64](sums), counts, func(x int64, n uint32) int64 { return x / int64(n) })
	case collective.Uint8:
		quotients(memory.View[uint8](sums), counts, func(x uint8, n uint32) uint8 { return uint8(uint32(x) / n) })
	case collective.Uint16:
		quotients(memory.View[uint16](sums), counts, func(x uint16, n uint32) uint16 { return uint16(uint32(x) / n) })
	case collective.Uint32:
		quotients(memory.View[uint32](sums), counts, func(x, n uint32) uint32 { return x / n })
	case collective.Uint64:
		quotients(memory.View[uint64](sums), counts, func(x uint64, n uint32) uint64 { return x / uint64(n) })
	case collective.Float32:
		quotients(memory.View[float32](sums), counts, func(x float32, n uint32) float32 { return x / float32(n) })
	case collective.Float64:
		quotients(memory.View[float64](sums), counts, func(x float64, n uint32) float64 { return x / float64(n) })
	}
}

func quotients[T any](sums []T, counts []uint32, by func(x T, n uint32) T) {
	for i, n := range counts {
		if n > 0 {
			sums[i] = by(sums[i], n)
		}
	}
}
