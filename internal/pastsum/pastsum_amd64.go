//go:build !purego

package pastsum

import "golang.org/x/sys/cpu"

// has says whether this processor has the loops.
var has = cpu.X86.HasAVX2

var (
	uint32Loops  = best(loops[uint32]{sum2To1Uint32AVX2, sum2To2Uint32AVX2, sum4To1Uint32AVX2, sum4To4Uint32AVX2})
	uint64Loops  = best(loops[uint64]{sum2To1Uint64AVX2, sum2To2Uint64AVX2, sum4To1Uint64AVX2, sum4To4Uint64AVX2})
	float32Loops = best(loops[float32]{sum2To1Float32AVX2, sum2To2Float32AVX2, sum4To1Float32AVX2, sum4To4Float32AVX2})
	float64Loops = best(loops[float64]{sum2To1Float64AVX2, sum2To2Float64AVX2, sum4To1Float64AVX2, sum4To4Float64AVX2})
)

func best[T number](l loops[T]) loops[T] {
	if !has {
		return loops[T]{}
	}
	return l
}
