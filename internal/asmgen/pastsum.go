package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pastSums add vectors and store what they come to past the caches. Sums of integers of any sign are those of unsigned
// ones.
func pastSums(g *gen) {
	if g.wide() {
		return
	}
	for _, e := range append(elements[6:8:8], reals2...) {
		for _, shape := range [][2]int{{2, 1}, {2, 2}, {4, 1}, {4, 4}} {
			pastSum(g, e, shape[0], shape[1])
		}
	}
}

// pastSum reads and stores line by line: memory is busy both ways all the time, which it is not where some KiB are summed
// before they are stored.
func pastSum(g *gen, e element, vectors, results int) {
	names := func(letter string, n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint(letter, i))
		}
		return all
	}
	into, of := names("d", results), names("v", vectors)
	sum := map[int]string{2: "v0[i] + v1[i]", 4: "(v0[i] + v1[i]) + (v2[i] + v3[i])"}[vectors]
	g.function(fmt.Sprintf("sum%dTo%d%s", vectors, results, e.suffix), "("+strings.Join(append(into, of...), ", ")+" []"+e.name+")", `is
	for i := range d0 {
		`+strings.Join(into, "[i], ")+`[i] = `+strings.Repeat(sum+", ", results-1)+sum+`
	}
with stores past the caches. len(d0) is a multiple of 64 bytes, results are aligned to as much, and slices are no shorter.
What others do with them is to come after pastcopy.Fence.`)
	var to, from []reg.Register
	for _, d := range into {
		to = append(to, g.base(d))
	}
	for _, v := range of {
		from = append(from, g.base(v))
	}
	n := g.length("d0")
	g.SHRQ(operand.U8(stepShift(e)-2), n)
	g.count(n, func() {
		var sums []reg.VecVirtual
		for b := 0; b < 64; b += g.bytes {
			pair := func(i int) reg.VecVirtual {
				v := g.loaded(at(from[i], b))
				addLanes(g, e, at(from[i+1], b), v, v)
				return v
			}
			v := pair(0)
			if vectors == 4 {
				addLanes(g, e, pair(2), v, v)
			}
			sums = append(sums, v)
		}
		for _, d := range to {
			for i, v := range sums {
				g.VMOVNTDQ(v, at(d, i*g.bytes))
			}
		}
		g.advance(64, append(to, from...)...)
	})
	g.leave()
}
