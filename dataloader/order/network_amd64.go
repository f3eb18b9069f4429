//go:build !purego

package order

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var wide, vectored = cpu.X86.HasAVX512F, cpu.X86.HasAVX2

// vectors puts as many of the first numbers of d through the network as fill
// vectors, and returns how many.
func vectors(net *network, d []int64) int {
	n := len(d) &^ (step - 1)
	switch {
	case n == 0 || !vectored:
		return 0
	case wide:
		onceAVX512(&d[0], n, net.words())
	default:
		onceAVX2(&d[0], n, net.words())
	}
	return n
}

// words is where a network lies, as the loops read it.
func (net *network) words() *uint64 { return (*uint64)(unsafe.Pointer(net)) }
