//go:build amd64 && !purego

package bitpack

import "golang.org/x/sys/cpu"

// tiersAbove are the tiers above generic that the processor runs, by what kernels/cpu
// asks of it for them.
func tiersAbove() (all []*Loops) {
	x := cpu.X86
	if !(x.HasAVX2 && x.HasFMA && x.HasBMI1 && x.HasBMI2 && x.HasPOPCNT) {
		return nil
	}
	all = append(all, &Loops{Name: "avx2", lookUp: lookUpAVX2, unpack: unpackAVX2, rows: rowsAVX2, pick: filter32AVX2, step: 8})
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512CD {
		all = append(all, &Loops{Name: "avx512", lookUp: lookUpAVX2, unpack: unpackAVX512, rows: rowsAVX512, pick: filter32AVX512, step: 16, partly: true})
	}
	return all
}
