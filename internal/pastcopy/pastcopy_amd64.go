//go:build !purego

package pastcopy

import "golang.org/x/sys/cpu"

var has = cpu.X86.HasAVX2

// Lines is copy(dst, src). len(dst) is a multiple of Line, dst aligned to as much, and src no shorter.
func Lines(dst, src []byte) {
	if !has {
		copy(dst, src)
		return
	}
	linesAVX2(dst, src[:len(dst)])
}

// Fence waits until all that was stored is seen by all.
func Fence() { fenceAVX2() }
