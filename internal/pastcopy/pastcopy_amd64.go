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

// Past says whether Copy does go past the caches here.
func Past() bool { return has }

// Fence waits until all that was stored is seen by all.
func Fence() { fenceAVX2() }
