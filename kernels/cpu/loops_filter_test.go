package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/volley-go/volley/memory"
)

func testKeeper[T any](t *testing.T, name string, random func(r *rand.Rand, n int) []T) {
	t.Run(name, func(t *testing.T) {
		eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
			want := keeperOf[T](&goes.filter.keepers)
			for k := range 2 * maxLoop {
				n := k + k/maxLoop*2*k
				mem.again()
				src, mask := like(mem, random(r, n)), like(mem, randomBytes(r, (n+7)/8))
				if r.IntN(3) == 0 { // few
					for i := range mask {
						bits := r.Uint32()
						mask[i] &= byte(bits) & byte(bits>>8)
					}
				}
				kept := int(memory.Bitmap(mask).Count(0, int64(n)))
				dst, expect := room[T](mem, kept), make([]T, kept)
				want(expect, src, mask)
				for name, k := range map[string]*keepers{"filter": &tier.filter.keepers, "filter past the caches": &tier.filter.past} {
					clear(dst)
					keeperOf[T](k)(dst, src, mask)
					same(t, fmt.Sprint(name, " to ", kept), n, dst, expect)
					mem.intact("a filter", len(rawBytes(dst)), 2)
				}
			}
		})
	})
}

func TestFilterLoops(t *testing.T) {
	testKeeper(t, "uint8", randomNumbers[uint8])
	testKeeper(t, "uint16", randomNumbers[uint16])
	testKeeper(t, "uint32", randomNumbers[uint32])
	testKeeper(t, "uint64", randomNumbers[uint64])
	testKeeper(t, "16 bytes", func(r *rand.Rand, n int) [][2]uint64 {
		v := make([][2]uint64, n)
		for i := range v {
			v[i] = [2]uint64{r.Uint64(), r.Uint64()}
		}
		return v
	})
	eachTier(t, func(t *testing.T, want, got *loops, r *rand.Rand, mem *guarded) {
		for n := range maxLoop {
			mem.again()
			v, mask := like(mem, randomNumbers[uint64](r, n)), like(mem, randomNumbers[uint64](r, n))
			expect := append([]uint64(nil), v...)
			want.filter.compressWords(expect, mask)
			got.filter.compressWords(v, mask)
			same(t, "compressed words", n, v, expect)
		}
	})
}

func BenchmarkFilter(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	src, mask := make([]uint64, morsel), make([]byte, morsel/8)
	for _, percent := range []int{10, 50} {
		for i := range src {
			memory.Bitmap(mask).Put(int64(i), r.IntN(100) < percent)
		}
		dst := make([]uint64, memory.Bitmap(mask).Count(0, morsel))
		b.Run(fmt.Sprint("kept=", percent), func(b *testing.B) {
			benchmarkTiers(b, 8*len(src), func(l *loops) { l.filter.u64(dst, src, mask) })
		})
	}
}
