//go:build amd64 && !purego

package cpu

import (
	"math"
	"unsafe"
)

func (l *takeLoops) avx2() {
	l.u32by32, l.u32by64 = nearTake(wholeTake(take32By32AVX2), l.u32by32), wholeTake(take32By64AVX2)
	l.u64by32, l.u64by64 = wholeTake(take64By32AVX2), wholeTake(take64By64AVX2)
}

func (l *takeLoops) avx512() {
	l.u32by32, l.u32by64 = nearTake(wholeTake(take32By32AVX512), l.u32by32), nearTake(wholeTake(take32By64AVX512), l.u32by64)
	l.u64by32, l.u64by64 = nearTake(wholeTake(take64By32AVX512), l.u64by32), nearTake(wholeTake(take64By64AVX512), l.u64by64)
}

// takeNear is the bytes of values up to which gathers of eight and more pay. They are
// two to three times as fast as loads where the first cache has the values, but one
// twentieth slower than four at a time, or than loads, where each waits for memory.
const takeNear = 16 << 20

// nearTake takes from few values by one loop and from more by another.
func nearTake[T, I uint32 | uint64](near, far func(dst, src []T, indices []I, valid []uint64) (taken int)) func(dst, src []T, indices []I, valid []uint64) (taken int) {
	return func(dst, src []T, indices []I, valid []uint64) (taken int) {
		var v T
		if len(src) > takeNear/int(unsafe.Sizeof(v)) {
			return far(dst, src, indices, valid)
		}
		return near(dst, src, indices, valid)
	}
}

// everyRow is the valid bits of rows that are all valid.
var everyRow = func() (words [takeBlock / 64]uint64) {
	for i := range words {
		words[i] = math.MaxUint64
	}
	return words
}()

// wholeTake has assembly take the rows whose valid bits are whole words, up to 64 of
// which one is out of range, and the loop in Go what is left.
func wholeTake[T, I uint32 | uint64](steps func(dst, src []T, indices []I, valid []uint64) (taken int)) func(dst, src []T, indices []I, valid []uint64) (taken int) {
	return func(dst, src []T, indices []I, valid []uint64) (taken int) {
		words := len(indices) / 64
		if valid == nil {
			taken = steps(dst, src, indices, everyRow[:words])
			return taken + takeRows(dst[taken:], src, indices[taken:], nil)
		}
		taken = steps(dst, src, indices, valid[:words])
		return taken + takeRows(dst[taken:], src, indices[taken:], valid[taken/64:])
	}
}
