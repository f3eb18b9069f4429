package main

import "github.com/mmcloughlin/avo/reg"

// peak makes the loop that does nothing but multiply and add in registers: what
// the processor can do at most.
func peak(g *gen) {
	const chains = 12 // two units, each with a latency of four or five
	g.function("multiplyAdds", "(x float64, n int) float64", `is
	a := 0.0
	for range n {
		a = math.FMA(a, x, x)
	}
	return a
in each lane of twelve registers.`)
	one := g.Load(g.Param("x"), g.XMM())
	n := g.Load(g.Param("n"), g.GP64())
	x := g.vector()
	g.VBROADCASTSD(one, x)
	var a [chains]reg.VecVirtual
	for k := range a {
		a[k] = g.vector()
		g.xor(a[k], a[k], a[k])
	}
	g.count(n, func() {
		for k := range a {
			g.VFMADD213PD(x, x, a[k])
		}
	})
	g.Store(a[0].AsX(), g.ReturnIndex(0))
	g.leave()
}
