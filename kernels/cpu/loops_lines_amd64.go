//go:build amd64 && !purego

package cpu

import "github.com/volley-go/volley/internal/pastcopy"

func (l *lineLoops) avx2() {
	l.u32, l.u64, l.records, l.store, l.fence = lines32AVX2, lines64AVX2, recordsAVX2, storeLinesAVX2, pastcopy.Fence
}

func (l *lineLoops) avx512() {
	l.u32, l.u64, l.records, l.store = lines32AVX512, lines64AVX512, recordsAVX512, storeLinesAVX512
}
