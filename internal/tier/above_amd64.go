//go:build amd64 && !purego

package tier

import "golang.org/x/sys/cpu"

func above() (all []string) {
	x := cpu.X86
	if !(x.HasAVX2 && x.HasFMA && x.HasBMI1 && x.HasBMI2 && x.HasPOPCNT) {
		return nil
	}
	all = append(all, AVX2)
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512CD {
		all = append(all, AVX512)
	}
	return all
}
