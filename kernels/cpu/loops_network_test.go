package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A network of exchanges sorts everything if it sorts all zeros and ones (Knuth,
// 5.3.4, theorem Z): all of 8 and 16 values are tried, and of 32 those of few
// runs besides random ones, equal ones among them.
func TestNetworkLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		try := func(v []uint64) {
			t.Helper()
			mem.again()
			want, got := append([]uint64(nil), v...), like(mem, v)
			goes.network.sort(want)
			tier.network.sort(got)
			same(t, "a network", len(v), got, want)
			mem.intact("a network", 8*len(v), 0)
		}
		bits := func(n int, ones uint64) []uint64 {
			v := make([]uint64, n)
			for i := range v {
				v[i] = ones >> i & 1
			}
			return v
		}
		for ones := range uint64(1 << 8) {
			try(bits(8, ones))
		}
		for ones := uint64(0); ones < 1<<16; ones += uint64(1 + r.IntN(15)) {
			try(bits(16, ones))
		}
		for range 3000 {
			ones := r.Uint64() & r.Uint64()
			try(bits(32, ones))
			try(bits(32, ^ones))
			for _, n := range []int{8, 16, 32} {
				v := make([]uint64, n)
				width := r.UintN(63) + 1
				for i := range v {
					v[i] = r.Uint64() & (1<<width - 1)
				}
				try(v)
			}
		}
	})
}

func BenchmarkNetwork(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{8, 16, 32} {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			all := make([]uint64, 256*n)
			for i := range all {
				all[i] = r.Uint64() >> 1
			}
			v := make([]uint64, n)
			at := 0
			benchmarkTiers(b, 8*n, func(l *loops) {
				copy(v, all[at:at+n])
				at = (at + n) % len(all)
				l.network.sort(v)
			})
		})
	}
}
