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
	case width >= 32 && has:
		copyWide(&to[0], step, &from[0], width, &rows[0], len(rows), ahead)
	case width >= 16 && width < 32:
		copyNarrow(&to[0], step, &from[0], width, &rows[0], len(rows), ahead)
	case width >= 8 && width < 16:
		copyEights(&to[0], step, &from[0], width, &rows[0], len(rows), ahead)
	case width >= 4 && width < 8:
		copyFours(&to[0], step, &from[0], width, &rows[0], len(rows), ahead)
	default:
		return false
	}
	return true
}

// copyWide is Copy of n rows of 32 bytes and more, which asks for ahead of them, n at
// most, before they are copied.
//
//go:noescape
func copyWide(to *byte, step int, from *byte, width int, rows *int64, n, ahead int)

// copyNarrow is copyWide of rows of 16 to 32 bytes.
//
//go:noescape
func copyNarrow(to *byte, step int, from *byte, width int, rows *int64, n, ahead int)

// copyEights is copyWide of rows of 8 to 16 bytes.
//
//go:noescape
func copyEights(to *byte, step int, from *byte, width int, rows *int64, n, ahead int)

// copyFours is copyWide of rows of 4 to 8 bytes.
//
//go:noescape
func copyFours(to *byte, step int, from *byte, width int, rows *int64, n, ahead int)

func askWords(to []uint32, step int, places []int32, from unsafe.Pointer, rows []int64, next unsafe.Pointer, nextRows []int64) {
	words(&to[0], step, &places[0], from, &rows[0], len(rows), next, &nextRows[0])
}

func askChunkedWords(to []uint32, step int, places []int32, from []unsafe.Pointer, rows []int64, chunk []int32, next []unsafe.Pointer) {
	chunkedWords(&to[0], step, &places[0], &from[0], &rows[0], &chunk[0], len(rows), &next[0])
}

// words is Words of n rows.
//
//go:noescape
func words(to *uint32, step int, places *int32, from unsafe.Pointer, rows *int64, n int, next unsafe.Pointer, nextRows *int64)

// chunkedWords is ChunkedWords of n rows.
//
//go:noescape
func chunkedWords(to *uint32, step int, places *int32, from *unsafe.Pointer, rows *int64, chunk *int32, n int, next *unsafe.Pointer)
