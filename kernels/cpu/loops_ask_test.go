package cpu

import (
	"math/rand/v2"
	"testing"
)

// Asking for memory, also beyond slices that end at unmapped pages, neither faults nor
// changes anything.
func TestAskLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, _, tier *loops, r *rand.Rand, mem *guarded) {
		for n := 0; n < maxLoop; n += 8 {
			mem.again()
			a, b := make([]uint64, n), make([]uint64, n)
			for i := range a {
				a[i], b[i] = r.Uint64(), r.Uint64()
			}
			x, y := like(mem, a), like(mem, b)
			for _, ahead := range []int{0, 64, askAhead, 1 << 30} {
				tier.ask.words(x, y, ahead)
			}
			same(t, "the first", n, x, a)
			same(t, "the second", n, y, b)
		}
	})
}
