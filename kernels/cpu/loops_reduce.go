package cpu

import (
	"math"

	"github.com/volley-go/volley/kernels"
)

// reduceLoops are loops that take in many values and give one, by the type of
// the values, and those of the shape of float sums. Forms that end in Valid pass
// over value i where bit i of valid, which has one for each, is not set.
//
// They are to be as quick as memory: a core reads about 13 GB/s, which is one
// vector of 64 bytes in five nanoseconds.
type reduceLoops struct {
	i8  reductions[int8]
	i16 reductions[int16]
	i32 reductions[int32]
	i64 reductions[int64]
	u8  reductions[uint8]
	u16 reductions[uint16]
	u32 reductions[uint32]
	u64 reductions[uint64]
	f32 reductions[float32]
	f64 reductions[float64]

	// sumBlocks sums as many blocks of kernels.ReduceBlock values as dst has
	// room for, each in the shape of kernels.ReduceFunc.
	sumBlocks      func(dst, v []float64)
	sumBlocksValid func(dst, v []float64, valid []byte)
	// deviateBlocks sums the differences from a mean, and their squares.
	deviateBlocks      func(d, q, v []float64, mean float64)
	deviateBlocksValid func(d, q, v []float64, valid []byte, mean float64)
}

// reductions are those of values of one type.
type reductions[T number] struct {
	// sum wraps to 64 bits; floats have none, see sumBlocks.
	sum      func(v []T) uint64
	sumValid func(v []T, valid []byte) uint64
	// least and greatest take best along, which is not NaN; NaN in v gives way.
	// Of zeros any may be given.
	least, greatest           func(v []T, best T) T
	leastValid, greatestValid func(v []T, valid []byte, best T) T
	// extremes is least and greatest in one pass.
	extremes func(v []T, low, high T) (least, greatest T)
}

func goReduceLoops() reduceLoops {
	return reduceLoops{
		i8: goSums[int8](), i16: goSums[int16](), i32: goSums[int32](), i64: goSums[int64](),
		u8: goSums[uint8](), u16: goSums[uint16](), u32: goSums[uint32](), u64: goSums[uint64](),
		f32: goExtremes[float32](), f64: goExtremes[float64](),
		sumBlocks: sumBlocks, sumBlocksValid: sumBlocksValid,
		deviateBlocks: deviateBlocks, deviateBlocksValid: deviateBlocksValid,
	}
}

func goSums[T integer]() reductions[T] {
	r := goExtremes[T]()
	r.sum, r.sumValid = sumAll[T], sumValid[T]
	return r
}

func goExtremes[T number]() reductions[T] {
	return reductions[T]{least: leastOf[T], greatest: greatestOf[T], leastValid: leastValid[T], greatestValid: greatestValid[T], extremes: extremesOf[T]}
}

// reductionsOf are the loops for a type.
func reductionsOf[T number](l *loops) *reductions[T] {
	r := &l.reduce
	var t T
	var found any
	switch any(t).(type) {
	case int8:
		found = &r.i8
	case int16:
		found = &r.i16
	case int32:
		found = &r.i32
	case int64:
		found = &r.i64
	case uint8:
		found = &r.u8
	case uint16:
		found = &r.u16
	case uint32:
		found = &r.u32
	case uint64:
		found = &r.u64
	case float32:
		found = &r.f32
	case float64:
		found = &r.f64
	}
	return found.(*reductions[T])
}

func sumAll[T integer](v []T) uint64 {
	var s0, s1, s2, s3 uint64
	i := 0
	for ; i+4 <= len(v); i += 4 {
		x := (*[4]T)(v[i:])
		s0 += uint64(x[0])
		s1 += uint64(x[1])
		s2 += uint64(x[2])
		s3 += uint64(x[3])
	}
	for _, x := range v[i:] {
		s0 += uint64(x)
	}
	return s0 + s1 + s2 + s3
}

// sumValid has no branch for a value.
func sumValid[T integer](v []T, valid []byte) uint64 {
	sum := uint64(0)
	for i, x := range v {
		sum += uint64(x) & -uint64(valid[i>>3]>>(uint(i)&7)&1)
	}
	return sum
}

func leastOf[T number](v []T, best T) T {
	for _, x := range v {
		if x < best {
			best = x
		}
	}
	return best
}

func greatestOf[T number](v []T, best T) T {
	for _, x := range v {
		if x > best {
			best = x
		}
	}
	return best
}

func extremesOf[T number](v []T, low, high T) (least, greatest T) {
	for _, x := range v {
		if x < low {
			low = x
		}
		if x > high {
			high = x
		}
	}
	return low, high
}

func leastValid[T number](v []T, valid []byte, best T) T {
	for i, x := range v {
		if x < best && valid[i>>3]>>(uint(i)&7)&1 != 0 {
			best = x
		}
	}
	return best
}

func greatestValid[T number](v []T, valid []byte, best T) T {
	for i, x := range v {
		if x > best && valid[i>>3]>>(uint(i)&7)&1 != 0 {
			best = x
		}
	}
	return best
}

func sumBlocks(dst, v []float64) {
	for i := range dst {
		dst[i] = sumLanes(v[i*kernels.ReduceBlock:][:kernels.ReduceBlock])
	}
}

func sumBlocksValid(dst, v []float64, valid []byte) {
	var room lanes
	for i := range dst {
		dst[i] = sumLanes(onlyValid(room[:], v[i*kernels.ReduceBlock:], valid[i*kernels.ReduceBlock/8:], 0))
	}
}

func deviateBlocks(d, q, v []float64, mean float64) {
	for i := range d {
		r := deviateLanes(v[i*kernels.ReduceBlock:][:kernels.ReduceBlock], mean)
		d[i], q[i] = r[0], r[1]
	}
}

func deviateBlocksValid(d, q, v []float64, valid []byte, mean float64) {
	var room lanes
	for i := range d {
		r := deviateLanes(onlyValid(room[:], v[i*kernels.ReduceBlock:], valid[i*kernels.ReduceBlock/8:], mean), mean)
		d[i], q[i] = r[0], r[1]
	}
}

// onlyValid fills dst with values of v, and with null in place of those that
// are not valid.
func onlyValid(dst, v []float64, valid []byte, null float64) []float64 {
	for i := range dst {
		dst[i] = null
		if valid[i>>3]>>(uint(i)&7)&1 != 0 {
			dst[i] = v[i]
		}
	}
	return dst
}

// leastNumber and greatestNumber are the ends of a type: infinities of floats.
func leastNumber[T number]() T {
	var t T
	switch p := any(&t).(type) {
	case *float32:
		*p = float32(math.Inf(-1))
	case *float64:
		*p = math.Inf(-1)
	case *int8:
		*p = math.MinInt8
	case *int16:
		*p = math.MinInt16
	case *int32:
		*p = math.MinInt32
	case *int64:
		*p = math.MinInt64
	}
	return t
}

func greatestNumber[T number]() T {
	var t T
	switch p := any(&t).(type) {
	case *float32:
		*p = float32(math.Inf(1))
	case *float64:
		*p = math.Inf(1)
	default:
		return leastNumber[T]() - 1 // wraps
	}
	return t
}
