package cpu

import (
	"math"
	"sync"
)

// peakLoops do nothing that is of use but to tell how fast the processor is.
type peakLoops struct {
	// multiplyAdds does chains of n fused multiply-adds of float64 at once, and
	// gives the last value of one. Lanes are how many chains.
	multiplyAdds func(x float64, n int) float64
	lanes        int
}

func goPeakLoops() peakLoops { return peakLoops{multiplyAdds: multiplyAddsGo, lanes: 8} }

// bestLoops are the loops of the best tier that the processor runs.
var bestLoops = sync.OnceValue(func() *loops {
	_, all := available()
	return all[len(all)-1]
})

// multiplyAddsGo has eight chains, as many as it takes for none to wait for its
// own last result.
func multiplyAddsGo(x float64, n int) float64 {
	var a, b, c, d, e, f, g, h float64
	for range n {
		a, b, c, d = math.FMA(a, x, x), math.FMA(b, x, x), math.FMA(c, x, x), math.FMA(d, x, x)
		e, f, g, h = math.FMA(e, x, x), math.FMA(f, x, x), math.FMA(g, x, x), math.FMA(h, x, x)
	}
	return max(a, b, c, d, e, f, g, h)
}

// MultiplyAdds does steps of fused multiply-adds of float64 in the widest
// registers of the processor, and gives their number in flops, two for each.
// Its time tells what a kernel can reach at most; in float32 it is twice that.
func MultiplyAdds(steps int) (flops int64) {
	l := bestLoops().peak
	if l.multiplyAdds(0.5, steps) < 0 {
		return 0 // never: it keeps the loop from being left out
	}
	return 2 * int64(l.lanes) * int64(steps)
}

// SumWords adds words, wrapping, with the best loop of the processor: its time over
// long ones tells how fast a core reads memory.
func SumWords(v []uint64) uint64 { return bestLoops().reduce.u64.sum(v) }
