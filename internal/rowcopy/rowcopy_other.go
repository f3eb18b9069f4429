//go:build !amd64 || purego

package rowcopy

import "unsafe"

// vector leaves all to plain.
func vector([]byte, int, []byte, int, []int64) bool { return false }

func askWords(to []uint32, step int, places []int32, from unsafe.Pointer, rows []int64, _ unsafe.Pointer, _ []int64) {
	plainWords(to, step, places, from, rows)
}

func askChunkedWords(to []uint32, step int, places []int32, from []unsafe.Pointer, rows []int64, chunk []int32, _ []unsafe.Pointer) {
	plainChunkedWords(to, step, places, from, rows, chunk)
}
