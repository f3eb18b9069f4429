package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scanBlock is kernels.ScanBlock: the rows that are added one after another.
const scanBlock = 4096

// scan makes the loops of running sums. Within a block each sum waits for the one
// before it, so as many blocks as a register has lanes go side by side: squares
// of values are turned so that a register has one value of each block.
func scan(g *gen) {
	scanTotals(g)
	scanAlong(g, false)
	scanAlong(g, true)
}

func scanTotals(g *gen) {
	lanes := g.bytes / 8
	g.function("totals", "(totals, v, ahead []float64)", fmt.Sprintf(`is
	for k := range totals {
		totals[k] = 0
		for _, x := range v[k*%[1]d:][:%[1]d] {
			totals[k] += x
		}
	}
and asks for half as much memory from ahead on. len(totals) is a multiple of %[2]d.`, scanBlock, lanes))
	totals, n, v, ahead := g.base("totals"), g.length("totals"), g.base("v"), g.base("ahead")
	g.SHRQ(operand.U8(shiftOf(lanes)), n)
	g.count(n, func() {
		sum := g.zero()
		g.eachSquare(v, func(columns []reg.VecVirtual) {
			for _, c := range columns {
				g.VADDPD(c, sum, sum)
			}
			g.halfAhead(ahead)
		})
		g.VMOVUPD(sum, at(totals, 0))
		g.advance(g.bytes, totals)
		g.advance((lanes-1)*scanBlock*8, v)
	})
	g.leave()
}

// eachSquare runs body for the values of a block a lane, as many of each as there
// are lanes; v is then behind the first block.
func (g *gen) eachSquare(v reg.Register, body func(columns []reg.VecVirtual)) {
	lanes := g.bytes / 8
	n := g.GP64()
	g.MOVQ(operand.U32(scanBlock/lanes), n)
	g.count(n, func() {
		rows := make([]reg.VecVirtual, lanes)
		for r := range rows {
			rows[r] = g.vector()
			g.VMOVUPD(at(v, r*scanBlock*8), rows[r])
		}
		body(g.square(reals[1], rows))
		g.advance(g.bytes, v)
	})
}

// halfAhead asks for half as many lines from p on as a square has. They are asked
// for in the order in which they lie, which memory gives faster than the lines of
// the squares, and in both loops, of which one alone would keep memory idle in the
// other.
func (g *gen) halfAhead(p reg.Register) {
	lines := g.bytes / 8 * g.bytes / 64 / 2
	for i := range lines {
		g.PREFETCHT0(at(p, 64*i))
	}
	g.advance(64*lines, p)
}

func scanAlong(g *gen, past bool) {
	lanes := g.bytes / 8
	name, params, rule := "along", "(dst, v, before []float64)", ""
	if past {
		name, params = "alongPast", "(dst, v, before, ahead []float64)"
		rule = ", dst aligned to a register; its lines are stored past the caches, and half as much memory as v has is asked for from ahead on"
	}
	g.function(name, params, fmt.Sprintf(`is
	for k := range before {
		sum := 0.0
		for i := k * %[1]d; i < (k+1)*%[1]d; i++ {
			sum += v[i]
			dst[i] = before[k] + sum
		}
	}
len(before) is a multiple of %[2]d%[3]s.`, scanBlock, lanes, rule))
	dst, v, before, n := g.base("dst"), g.base("v"), g.base("before"), g.length("before")
	var ahead reg.Register
	if past {
		ahead = g.base("ahead")
	}
	g.SHRQ(operand.U8(shiftOf(lanes)), n)
	g.count(n, func() {
		sum, from := g.zero(), g.vector()
		g.VMOVUPD(at(before, 0), from)
		g.eachSquare(v, func(columns []reg.VecVirtual) {
			results := make([]reg.VecVirtual, lanes)
			for i, c := range columns {
				g.VADDPD(c, sum, sum)
				results[i] = g.vector()
				g.VADDPD(sum, from, results[i])
			}
			for r, row := range g.square(reals[1], results) {
				if past {
					g.VMOVNTPD(row, at(dst, r*scanBlock*8))
				} else {
					g.VMOVUPD(row, at(dst, r*scanBlock*8))
				}
			}
			g.advance(g.bytes, dst)
			if past {
				g.halfAhead(ahead)
			}
		})
		g.advance(g.bytes, before)
		g.advance((lanes-1)*scanBlock*8, v, dst)
	})
	if past {
		g.SFENCE()
	}
	g.leave()
}
