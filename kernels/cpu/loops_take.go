package cpu

import "unsafe"

// takeLoops gather values of 32 and of 64 bits by row numbers of as many: dst[i] is
// src[indices[i]] where bit i of valid, word by word, is set, else 0; all are where valid
// is nil. They stop at the first row of these whose index is out of range, and give how
// many they have taken. dst is as long as indices, at most takeBlock, of which valid has
// a bit each; len(src) is neither 0 nor, of indices of 32 bits, above 2^31.
type takeLoops struct {
	u32by32 func(dst, src, indices []uint32, valid []uint64) (taken int)
	u32by64 func(dst, src []uint32, indices, valid []uint64) (taken int)
	u64by32 func(dst, src []uint64, indices []uint32, valid []uint64) (taken int)
	u64by64 func(dst, src, indices, valid []uint64) (taken int)
}

func goTakeLoops() takeLoops {
	return takeLoops{takeRows[uint32, uint32], takeRows[uint32, uint64], takeRows[uint64, uint32], takeRows[uint64, uint64]}
}

func takeRows[T, I uint32 | uint64](dst, src []T, indices []I, valid []uint64) (taken int) {
	dst = dst[:len(indices)]
	if valid == nil {
		for i, row := range indices {
			if uint64(row) >= uint64(len(src)) {
				return i
			}
			dst[i] = src[row]
		}
		return len(indices)
	}
	for i, row := range indices {
		if dst[i] = 0; valid[i/64]>>(i%64)&1 != 0 {
			if uint64(row) >= uint64(len(src)) {
				return i
			}
			dst[i] = src[row]
		}
	}
	return len(indices)
}

// takeBlock is how many rows takers are given at a time.
const takeBlock = 1 << 12

// takerOf is the loop for some types of values and indices that takes from src, nil
// where there is none. An index below 0 is out of range.
func takerOf[T any, I index](l *takeLoops, src []T) func(dst []T, indices []I, valid []uint64) (taken int) {
	var v T
	var zero I
	size, index, rows := unsafe.Sizeof(v), unsafe.Sizeof(zero), len(src)
	if index == 4 && rows > 1<<31 {
		if zero-1 > 0 { // rows above 2^31 have numbers
			return nil
		}
		rows = 1 << 31
	}
	src = src[:rows]
	switch {
	case rows == 0:
	case size == 4 && index == 4:
		return takerBy[T, I](l.u32by32, src)
	case size == 4 && index == 8:
		return takerBy[T, I](l.u32by64, src)
	case size == 8 && index == 4:
		return takerBy[T, I](l.u64by32, src)
	case size == 8 && index == 8:
		return takerBy[T, I](l.u64by64, src)
	}
	return nil
}

func takerBy[T any, I index, W, N uint32 | uint64](take func(dst, src []W, indices []N, valid []uint64) (taken int), src []T) func(dst []T, indices []I, valid []uint64) (taken int) {
	from := sameSize[W](src)
	return func(dst []T, indices []I, valid []uint64) (taken int) {
		return take(sameSize[W](dst), from, sameSize[N](indices), valid)
	}
}

// sameSize is values as those of a type of the same size.
func sameSize[W, T any](v []T) []W {
	return unsafe.Slice((*W)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}
