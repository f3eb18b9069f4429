//go:build amd64 && !purego

package cpu

import "unsafe"

// The steps of the assembly of the family: values of a sum, bytes of an extreme.
const (
	sumStep     = 32
	extremeStep = 256
)

func (l *reduceLoops) avx2() {
	l.i8.sums(sumInt8AVX2, sumValidInt8AVX2)
	l.i8.leastAndGreatest(leastInt8AVX2, greatestInt8AVX2, leastValidInt8AVX2, greatestValidInt8AVX2)
	l.i16.sums(sumInt16AVX2, sumValidInt16AVX2)
	l.i16.leastAndGreatest(leastInt16AVX2, greatestInt16AVX2, leastValidInt16AVX2, greatestValidInt16AVX2)
	l.i32.sums(sumInt32AVX2, sumValidInt32AVX2)
	l.i32.leastAndGreatest(leastInt32AVX2, greatestInt32AVX2, leastValidInt32AVX2, greatestValidInt32AVX2)
	l.i64.sums(func(v []int64) uint64 { return sumUint64AVX2(unsignedOf(v)) },
		func(v []int64, valid []byte) uint64 { return sumValidUint64AVX2(unsignedOf(v), valid) })
	l.i64.leastAndGreatest(leastInt64AVX2, greatestInt64AVX2, leastValidInt64AVX2, greatestValidInt64AVX2)
	l.u8.sums(sumUint8AVX2, sumValidUint8AVX2)
	l.u8.leastAndGreatest(leastUint8AVX2, greatestUint8AVX2, leastValidUint8AVX2, greatestValidUint8AVX2)
	l.u16.sums(sumUint16AVX2, sumValidUint16AVX2)
	l.u16.leastAndGreatest(leastUint16AVX2, greatestUint16AVX2, leastValidUint16AVX2, greatestValidUint16AVX2)
	l.u32.sums(sumUint32AVX2, sumValidUint32AVX2)
	l.u32.leastAndGreatest(leastUint32AVX2, greatestUint32AVX2, leastValidUint32AVX2, greatestValidUint32AVX2)
	l.u64.sums(sumUint64AVX2, sumValidUint64AVX2)
	l.u64.leastAndGreatest(leastUint64AVX2, greatestUint64AVX2, leastValidUint64AVX2, greatestValidUint64AVX2)
	l.f32.leastAndGreatest(leastFloat32AVX2, greatestFloat32AVX2, leastValidFloat32AVX2, greatestValidFloat32AVX2)
	l.f64.leastAndGreatest(leastFloat64AVX2, greatestFloat64AVX2, leastValidFloat64AVX2, greatestValidFloat64AVX2)
	l.i32.extremes, l.i64.extremes = bothExtremes(extremesInt32AVX2, l.i32.extremes), bothExtremes(extremesInt64AVX2, l.i64.extremes)
	l.f32.extremes, l.f64.extremes = bothExtremes(extremesFloat32AVX2, l.f32.extremes), bothExtremes(extremesFloat64AVX2, l.f64.extremes)
	l.sumBlocks, l.sumBlocksValid = sumBlocksAVX2, sumBlocksValidAVX2
	l.deviateBlocks, l.deviateBlocksValid = deviateBlocksAVX2, deviateBlocksValidAVX2
}

func (l *reduceLoops) avx512() {
	l.i8.sums(sumInt8AVX512, sumValidInt8AVX512)
	l.i8.leastAndGreatest(leastInt8AVX512, greatestInt8AVX512, leastValidInt8AVX512, greatestValidInt8AVX512)
	l.i16.sums(sumInt16AVX512, sumValidInt16AVX512)
	l.i16.leastAndGreatest(leastInt16AVX512, greatestInt16AVX512, leastValidInt16AVX512, greatestValidInt16AVX512)
	l.i32.sums(sumInt32AVX512, sumValidInt32AVX512)
	l.i32.leastAndGreatest(leastInt32AVX512, greatestInt32AVX512, leastValidInt32AVX512, greatestValidInt32AVX512)
	l.i64.sums(func(v []int64) uint64 { return sumUint64AVX512(unsignedOf(v)) },
		func(v []int64, valid []byte) uint64 { return sumValidUint64AVX512(unsignedOf(v), valid) })
	l.i64.leastAndGreatest(leastInt64AVX512, greatestInt64AVX512, leastValidInt64AVX512, greatestValidInt64AVX512)
	l.u8.sums(sumUint8AVX512, sumValidUint8AVX512)
	l.u8.leastAndGreatest(leastUint8AVX512, greatestUint8AVX512, leastValidUint8AVX512, greatestValidUint8AVX512)
	l.u16.sums(sumUint16AVX512, sumValidUint16AVX512)
	l.u16.leastAndGreatest(leastUint16AVX512, greatestUint16AVX512, leastValidUint16AVX512, greatestValidUint16AVX512)
	l.u32.sums(sumUint32AVX512, sumValidUint32AVX512)
	l.u32.leastAndGreatest(leastUint32AVX512, greatestUint32AVX512, leastValidUint32AVX512, greatestValidUint32AVX512)
	l.u64.sums(sumUint64AVX512, sumValidUint64AVX512)
	l.u64.leastAndGreatest(leastUint64AVX512, greatestUint64AVX512, leastValidUint64AVX512, greatestValidUint64AVX512)
	l.f32.leastAndGreatest(leastFloat32AVX512, greatestFloat32AVX512, leastValidFloat32AVX512, greatestValidFloat32AVX512)
	l.f64.leastAndGreatest(leastFloat64AVX512, greatestFloat64AVX512, leastValidFloat64AVX512, greatestValidFloat64AVX512)
	l.i32.extremes, l.i64.extremes = bothExtremes(extremesInt32AVX512, l.i32.extremes), bothExtremes(extremesInt64AVX512, l.i64.extremes)
	l.f32.extremes, l.f64.extremes = bothExtremes(extremesFloat32AVX512, l.f32.extremes), bothExtremes(extremesFloat64AVX512, l.f64.extremes)
	l.sumBlocks, l.sumBlocksValid = sumBlocksAVX512, sumBlocksValidAVX512
	l.deviateBlocks, l.deviateBlocksValid = deviateBlocksAVX512, deviateBlocksValidAVX512
}

func unsignedOf(v []int64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// sums has assembly take the whole steps and the loops of the tier below what
// is left.
func (r *reductions[T]) sums(steps func([]T) uint64, stepsValid func([]T, []byte) uint64) {
	rest, restValid := r.sum, r.sumValid
	r.sum = func(v []T) uint64 {
		k := len(v) &^ (sumStep - 1)
		n := steps(v[:k])
		if k < len(v) {
			n += rest(v[k:])
		}
		return n
	}
	r.sumValid = func(v []T, valid []byte) uint64 {
		k := len(v) &^ (sumStep - 1)
		n := stepsValid(v[:k], valid)
		if k < len(v) {
			n += restValid(v[k:], valid[k/8:])
		}
		return n
	}
}

// leastAndGreatest does the same for the extremes, whose assembly keeps one for
// each lane of 64 bytes.
func (r *reductions[T]) leastAndGreatest(least, greatest func(lanes, v []T), leastValid, greatestValid func(lanes, v []T, valid []byte)) {
	r.least, r.leastValid = wholeExtreme(least, leastValid, r.least, r.leastValid)
	r.greatest, r.greatestValid = wholeExtreme(greatest, greatestValid, r.greatest, r.greatestValid)
}

func wholeExtreme[T number](steps func(lanes, v []T), stepsValid func(lanes, v []T, valid []byte), rest func([]T, T) T, restValid func([]T, []byte, T) T) (func([]T, T) T, func([]T, []byte, T) T) {
	var t T
	size := int(unsafe.Sizeof(t))
	whole := func(v []T) int { return len(v) &^ (extremeStep/size - 1) }
	lanes := func(best T) []T {
		v := make([]T, 64/size)
		for i := range v {
			v[i] = best
		}
		return v
	}
	all := func(v []T, best T) T {
		k := whole(v)
		if k > 0 {
			found := lanes(best)
			steps(found, v[:k])
			best = rest(found, best)
		}
		return rest(v[k:], best)
	}
	valid := func(v []T, valid []byte, best T) T {
		k := whole(v)
		if k > 0 {
			found := lanes(best)
			stepsValid(found, v[:k], valid)
			best = rest(found, best)
		}
		if k == len(v) {
			return best
		}
		return restValid(v[k:], valid[k/8:], best)
	}
	return all, valid
}

// bothLanes is the bytes of the lanes of extremes.
const bothLanes = 64

// bothExtremes has assembly take the whole steps of values of four or eight bytes.
func bothExtremes[T number](steps func(low, high, v []T), rest func([]T, T, T) (T, T)) func([]T, T, T) (T, T) {
	var t T
	n := bothLanes / int(unsafe.Sizeof(t))
	return func(v []T, low, high T) (T, T) {
		whole := len(v) &^ (extremeStep/int(unsafe.Sizeof(t)) - 1)
		if whole > 0 {
			found := make([]T, 2*n)
			for i := range n {
				found[i], found[n+i] = low, high
			}
			steps(found[:n], found[n:], v[:whole])
			low, _ = rest(found[:n], low, high)
			_, high = rest(found[n:], low, high)
		}
		return rest(v[whole:], low, high)
	}
}
