package order

import "golang.org/x/sys/cpu"

var wide, vectored = cpu.X86.HasAVX512F, cpu.X86.HasAVX2

// vectors puts as many of the first numbers of d through the network as fill
// vectors, and returns how many.
func vectors(net *network, d []int64) int {
	n := len(d) &^ (step - 1)
	switch {
	case n == 0 || !vectored:
		return 0
	case wide:
		onceAVX512(&d[0], n, net)
	default:
		onceAVX2(&d[0], n, net)
	}
	return n
}

// onceAVX2 is Permutation.once of n numbers from x on; n is a multiple of step.
//
//go:noescape
func onceAVX2(x *int64, n int, net *network)

// onceAVX512 is onceAVX2 in vectors twice as long.
//
//go:noescape
func onceAVX512(x *int64, n int, net *network)
