package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomDecimals are values that fit 64 bits, or all but one of them, or any.
func randomDecimals(r *rand.Rand, n int) [][2]uint64 {
	v := make([][2]uint64, n)
	kind, shift := r.IntN(4), r.IntN(64)
	for i := range v {
		x := int64(r.Uint64()) >> shift
		if r.IntN(8) == 0 {
			x = []int64{0, -1, math.MaxInt64, math.MinInt64}[r.IntN(4)]
		}
		if v[i] = [2]uint64{uint64(x), uint64(x >> 63)}; kind == 0 {
			v[i][1] = r.Uint64()
		}
	}
	if kind == 1 && n > 0 { // one is just past the integers
		v[r.IntN(n)] = [][2]uint64{{1 << 63, 0}, {1<<63 - 1, math.MaxUint64}, {0, 1}, {math.MaxUint64, 0}}[r.IntN(4)]
	}
	return v
}

func TestDecimalLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		narrow := 0
		for k := range 4 * maxLoop {
			n := k % (maxLoop + 1)
			mem.again()
			src := like(mem, randomDecimals(r, n))
			words, want := room[int64](mem, n), make([]int64, n)
			wantMagnitude, wantWide := goes.decimal.narrow(want, src)
			magnitude, wide := tier.decimal.narrow(words, src)
			require.Equal(t, [2]uint64{wantMagnitude, wantWide}, [2]uint64{magnitude, wide}, "%d values: %v", n, src)
			same(t, "narrow words", n, words, want)
			mem.intact("narrow words", 8*n, 1)
			if wide == 0 {
				narrow++
			}
			back, wanted := room[[2]uint64](mem, n), make([][2]uint64, n)
			goes.decimal.widen(wanted, words)
			tier.decimal.widen(back, words)
			same(t, "wide words", n, back, wanted)
			mem.intact("wide words", 16*n, 2)
			if wide == 0 {
				same(t, "narrow words made wide", n, back, src)
			}
		}
		require.Greater(t, narrow, maxLoop)
		require.Less(t, narrow, 4*maxLoop)
	})
}

// The magnitude is what kernels take their bounds from.
func TestDecimalMagnitude(t *testing.T) {
	for _, c := range []struct {
		value           [2]uint64
		magnitude, wide uint64
	}{
		{[2]uint64{5, 0}, 5, 0},
		{[2]uint64{^uint64(5), ^uint64(0)}, 5, 0}, // -6
		{[2]uint64{1 << 63, ^uint64(0)}, math.MaxInt64, 0},
		{[2]uint64{1 << 63, 0}, math.MaxInt64, ^uint64(0)},
		{[2]uint64{0, 1}, 0, 1},
	} {
		magnitude, wide := narrowDecimals(make([]int64, 1), [][2]uint64{c.value})
		require.Equal(t, c.magnitude, magnitude, "%x", c.value)
		require.Equal(t, c.wide, wide, "%x", c.value)
	}
}

func BenchmarkDecimal(b *testing.B) {
	const n = 1 << 12
	words, wide := make([]int64, n), make([][2]uint64, n)
	b.Run("to=int64", func(b *testing.B) {
		benchmarkTiers(b, 24*n, func(l *loops) { l.decimal.narrow(words, wide) })
	})
	b.Run("to=decimal", func(b *testing.B) {
		benchmarkTiers(b, 24*n, func(l *loops) { l.decimal.widen(wide, words) })
	})
}
