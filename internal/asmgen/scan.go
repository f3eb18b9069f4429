package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scanBlock is kernels.ScanBlock: the rows that are added one after another.
const scanBlock = 4096

// scan makes the loops of running sums. Floats are added one after another within
// a block, so as many blocks as a register has lanes of float64 go side by side:
// squares of values are turned so that a register has one value of each block.
// Integers are in rows: what their order is makes no difference.
func scan(g *gen) {
	for _, f := range reals {
		scanTotals(g, f)
		if !g.wide() { // eight lines that are read and eight that are written, 32 KiB apart, are more than the first-level cache's ways
			scanAlong(g, f, false)
		}
		scanAlong(g, f, true)
	}
	for _, e := range elements {
		if e.kind == unsigned && e.size >= 4 { // of the signed ones sums have the same bits
			wrappedTotal(g, e)
			wrappedAlong(g, e, false)
			wrappedAlong(g, e, true)
		}
	}
}

func scanTotals(g *gen, f real) {
	lanes := g.bytes / 8
	g.function("totals"+f.name, fmt.Sprintf("(totals []float64, v, ahead []%s)", f.of), fmt.Sprintf(`is
	for k := range totals {
		totals[k] = 0
		for _, x := range v[k*%[1]d:][:%[1]d] {
			totals[k] += float64(x)
		}
	}
and asks for half as much memory from ahead on. len(totals) is a multiple of %[2]d.`, scanBlock, lanes))
	totals, n, v, ahead := g.base("totals"), g.length("totals"), g.base("v"), g.base("ahead")
	g.SHRQ(operand.U8(shiftOf(lanes)), n)
	g.count(n, func() {
		sum := g.zero()
		g.eachSquare(f, v, func(_ int, columns []reg.VecVirtual) {
			for _, c := range columns {
				g.VADDPD(c, sum, sum)
			}
		}, func() { g.halfAhead(lanes*g.bytes, ahead) })
		g.VMOVUPD(sum, at(totals, 0))
		g.advance(g.bytes, totals)
		g.advance((lanes-1)*scanBlock*f.bytes, v)
	})
	g.leave()
}

// eachSquare runs body for the values of a block a lane, as many of each as there
// are lanes, made float64, and then for the second half of registers of float32.
// end is run behind each register of each block; v is then behind the first block.
func (g *gen) eachSquare(f real, v reg.Register, body func(half int, columns []reg.VecVirtual), end func()) {
	lanes := g.bytes / 8
	n := g.GP64()
	g.MOVQ(operand.U32(scanBlock/g.lanesOf(f)), n)
	g.count(n, func() {
		for half := range g.lanesOf(f) / lanes {
			rows := make([]reg.VecVirtual, lanes)
			for r := range rows {
				rows[r] = g.vector()
				from := at(v, r*scanBlock*f.bytes+half*g.bytes/2)
				if f.bytes == 8 {
					g.VMOVUPD(from, rows[r])
				} else {
					g.VCVTPS2PD(from, rows[r])
				}
			}
			body(half, g.square(reals[1], rows))
		}
		end()
		g.advance(g.bytes, v)
	})
}

// halfAhead asks for half as many bytes from p on as a step of a loop reads, for the
// second-level cache, since a whole part lies between this and their use. They
// are asked for in the order in which they lie, which memory gives faster than the
// lines of the squares, and in both loops, of which one alone would keep memory
// idle in the other.
func (g *gen) halfAhead(bytes int, p reg.Register) {
	lines := bytes / 64 / 2
	for i := range lines {
		g.PREFETCHT1(at(p, 64*i))
	}
	g.advance(64*lines, p)
}

func scanAlong(g *gen, f real, past bool) {
	lanes := g.bytes / 8
	name, params, rule := "along", "(dst, v []%[1]s, before []float64)", ""
	if past {
		name, params, rule = "alongPast", "(dst, v []%[1]s, before []float64, ahead []%[1]s)", pastRule
	}
	g.function(name+f.name, fmt.Sprintf(params, f.of), fmt.Sprintf(`is
	for k := range before {
		sum := 0.0
		for i := k * %[1]d; i < (k+1)*%[1]d; i++ {
			sum += float64(v[i])
			dst[i] = %[4]s(before[k] + sum)
		}
	}
len(before) is a multiple of %[2]d%[3]s.`, scanBlock, lanes, rule, f.of))
	dst, v, before, n := g.base("dst"), g.base("v"), g.base("before"), g.length("before")
	var ahead reg.Register
	if past {
		ahead = g.base("ahead")
	}
	g.SHRQ(operand.U8(shiftOf(lanes)), n)
	g.count(n, func() {
		sum, from := g.zero(), g.vector()
		g.VMOVUPD(at(before, 0), from)
		firsts := make([]reg.VecVirtual, lanes)
		g.eachSquare(f, v, func(half int, columns []reg.VecVirtual) {
			results := make([]reg.VecVirtual, lanes)
			for i, c := range columns {
				g.VADDPD(c, sum, sum)
				results[i] = g.vector()
				g.VADDPD(sum, from, results[i])
			}
			for r, row := range g.square(reals[1], results) {
				if f.bytes == 4 {
					row = g.narrowed(row)
				}
				switch {
				case f.bytes == 4 && half == 0:
					firsts[r] = row
					continue
				case f.bytes == 4:
					row = g.pasted(firsts[r], row)
				}
				if past {
					g.VMOVNTPD(row, at(dst, r*scanBlock*f.bytes))
				} else {
					g.VMOVUPD(row, at(dst, r*scanBlock*f.bytes))
				}
			}
		}, func() {
			g.advance(g.bytes, dst)
			if past {
				g.halfAhead(lanes*g.bytes, ahead)
			}
		})
		g.advance(g.bytes, before)
		g.advance((lanes-1)*scanBlock*f.bytes, v, dst)
	})
	if past {
		g.SFENCE()
	}
	g.leave()
}

// pastRule is what loops that store past the caches say of it.
const pastRule = ", dst aligned to a register; its lines are stored past the caches, and half as much memory as v has is asked for from ahead on"

// narrowed is a new register of half the width with float64 values as float32.
func (g *gen) narrowed(v reg.VecVirtual) reg.VecVirtual {
	if g.wide() {
		half := g.YMM()
		g.VCVTPD2PS(v, half)
		return half
	}
	half := g.XMM()
	g.VCVTPD2PSY(v, half)
	return half
}

// pasted is a new register of two of half the width.
func (g *gen) pasted(low, high reg.VecVirtual) reg.VecVirtual {
	v := g.vector()
	if g.wide() {
		g.VINSERTF64X4(operand.U8(1), high, low.AsZ(), v)
	} else {
		g.VINSERTF128(operand.U8(1), high, low.AsY(), v)
	}
	return v
}
