//go:build amd64 && !purego

package cpu

import (
	"sync"
	"unsafe"

	"github.com/volley-go/volley/internal/pastcopy"
)

// filterStep is the rows that the assembly of the family takes at a time.
const filterStep = 64

func (l *filterLoops) avx2() {
	l.keepers = keepers{wholeFilter(filter8AVX2), wholeFilter(filter16AVX2), wholeFilter(filter32AVX2), wholeFilter(filter64AVX2), wholeFilter(filter128AVX2)}
	l.past = keepers{pastFilter(filter8AVX2), pastFilter(filter16AVX2), pastFilter(filter32AVX2), pastFilter(filter64AVX2), pastFilter(filter128AVX2)}
	l.compressWords = compressWordsAVX2
}

func (l *filterLoops) avx512() {
	l.keepers = keepers{wholeFilter(filter8AVX512), wholeFilter(filter16AVX512), wholeFilter(filter32AVX512), wholeFilter(filter64AVX512), wholeFilter(filter128AVX512)}
	l.past = keepers{pastFilter(filter8AVX512), pastFilter(filter16AVX512), pastFilter(filter32AVX512), pastFilter(filter64AVX512), pastFilter(filter128AVX512)}
}

// wholeFilter has assembly take what it can store in whole registers, and Go
// the last 64 values that are kept.
func wholeFilter[T any](steps func(dst, src []T, mask []byte) (rows, kept int)) func(dst, src []T, mask []byte) {
	return func(dst, src []T, mask []byte) {
		rows, kept := steps(dst, src[:len(src)&^(filterStep-1)], mask)
		if kept < len(dst) {
			keepValues(dst[kept:], src[rows:], mask[rows/8:])
		}
	}
}

// A filter past the caches gathers pastRoom bytes in the first-level cache, and
// stores the whole lines of them.
const (
	pastRoom = 16 << 10
	pastLine = pastcopy.Line
)

// pastRooms hold what is gathered, a step more of it, and part of a line.
var pastRooms = sync.Pool{New: func() any { return new([pastRoom + 9*pastLine*8]byte) }}

// pastFilter is wholeFilter by way of memory that stays in the first-level cache:
// stores past the caches are of whole lines, or they are slower than others.
func pastFilter[T any](steps func(dst, src []T, mask []byte) (rows, kept int)) func(dst, src []T, mask []byte) {
	var t T
	size := int(unsafe.Sizeof(t))
	lane := pastLine / size
	return func(dst, src []T, mask []byte) {
		bytes := pastRooms.Get().(*[pastRoom + 9*pastLine*8]byte)
		defer pastRooms.Put(bytes)
		room := unsafe.Slice((*T)(unsafe.Pointer(bytes)), len(bytes)/size)
		head := int(-uintptr(unsafe.Pointer(unsafe.SliceData(dst)))&(pastLine-1)) / size // values before a line of dst begins
		have := 0
		for whole := len(src) &^ (filterStep - 1); whole > 0; {
			n := min(whole, pastRoom/size)
			_, kept := steps(room[have:], src[:n], mask)
			src, mask, whole = src[n:], mask[n/8:], whole-n
			have += kept
			done := min(head, have)
			copy(dst, room[:done])
			dst, head = dst[done:], head-done
			if n := (have - done) / lane * lane; n > 0 {
				pastcopy.Lines(asBytes(dst[:n]), asBytes(room[done:done+n]))
				dst, done = dst[n:], done+n
			}
			have = copy(room, room[done:have])
		}
		pastcopy.Fence()
		copy(dst, room[:have])
		if have < len(dst) {
			keepValues(dst[have:], src, mask)
		}
	}
}

// asBytes are the bytes of values.
func asBytes[T any](v []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(t)))
}
