package bitpack

import (
	"fmt"
	"testing"
)

// BenchmarkLookUp looks up 256 numbers at a time, and BenchmarkRows lays 16 columns of
// them by rows of 32, on every tier.
func BenchmarkLookUp(b *testing.B) {
	for _, width := range []uint{4, 10, 17} {
		table, packed, to := make([]uint32, 1<<width), make([]byte, 64<<10), make([]uint32, 256)
		for i := range packed {
			packed[i] = byte(i * 7919 >> 3)
		}
		for _, l := range Tiers() {
			b.Run(fmt.Sprintf("width=%d/tier=%s", width, l.Name), func(b *testing.B) {
				b.SetBytes(4 * 256)
				for i := 0; b.Loop(); i++ {
					l.LookUp(to, table, packed, int64(i%32*32*256), width)
				}
			})
		}
	}
}

func BenchmarkRows(b *testing.B) {
	const n, columns, stride = 256, 16, 32
	from, to := make([]uint32, n*columns), make([]uint32, n*stride)
	for _, l := range Tiers() {
		b.Run("tier="+l.Name, func(b *testing.B) {
			b.SetBytes(4 * n * columns)
			for b.Loop() {
				l.Rows(to, stride, from, n, columns, n)
			}
		})
	}
}

// BenchmarkPick keeps a quarter of 1024 words.
func BenchmarkPick(b *testing.B) {
	from, to, mask := make([]uint32, 1024), make([]uint32, 1024+PickRoom), make([]uint64, 16)
	for i := range mask {
		mask[i] = 0x1248_8421_1128_8421 + uint64(i)<<20
	}
	for _, l := range Tiers() {
		b.Run("tier="+l.Name, func(b *testing.B) {
			b.SetBytes(4 * 1024)
			for b.Loop() {
				l.Pick(to, from, mask)
			}
		})
	}
}
