//go:build !purego

package rowcopy

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var has = cpu.X86.HasAVX2

// vector is plain, or false where there is no loop for it.
func vector(to []byte, step int, from []byte, width int, rows []int64) bool {
	ahead := min(len(rows), mostAhead, max(4, near/width))
	switch {
	case !has:
		return false
	case width >= 32:
		copyWideAVX2(&to[0], step, &from[0], width, &rows[0], len(rows), ahead)
	case width >= 16 && width < 32:
		copyNarrowAVX2(&to[0], step, &from[0], width, &rows[0], len(rows), ahead)
	case width >= 8 && width < 16:
		copyEightsAVX2(&to[0], step, &from[0], width, &rows[0], len(rows), ahead)
	case width >= 4 && width < 8:
		copyFoursAVX2(&to[0], step, &from[0], width, &rows[0], len(rows), ahead)
	default:
		return false
	}
	return true
}

func askWords(to []uint32, step int, places []int32, from unsafe.Pointer, rows []int64, next unsafe.Pointer, nextRows []int64) {
	if !has {
		plainWords(to, step, places, from, rows)
		return
	}
	wordsAVX2(&to[0], step, &places[0], (*uint32)(from), &rows[0], len(rows), (*uint32)(next), &nextRows[0])
}

func askChunkedWords(to []uint32, step int, places []int32, from []unsafe.Pointer, rows []int64, chunk []int32, next []unsafe.Pointer) {
	if !has {
		plainChunkedWords(to, step, places, from, rows, chunk)
		return
	}
	chunkedWordsAVX2(&to[0], step, &places[0], (**uint32)(unsafe.Pointer(&from[0])), &rows[0], &chunk[0], len(rows), (**uint32)(unsafe.Pointer(&next[0])))
}
