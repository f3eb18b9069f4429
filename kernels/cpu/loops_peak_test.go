package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMultiplyAdds(t *testing.T) {
	eachTier(t, func(t *testing.T, want, got *loops, r *rand.Rand, _ *guarded) {
		for _, n := range []int{0, 1, 2, 7, 1000} {
			x := r.Float64()
			plain := 0.0
			for range n {
				plain = math.FMA(plain, x, x)
			}
			if w, g := want.peak.multiplyAdds(x, n), got.peak.multiplyAdds(x, n); w != plain || g != plain {
				t.Errorf("%d steps of %v: %v and %v, not %v", n, x, w, g, plain)
			}
		}
	})
	if f := MultiplyAdds(10); f < 2*8*10 || f%20 != 0 {
		t.Errorf("%d operations in 10 steps", f)
	}
}
