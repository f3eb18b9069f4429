package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// reduce makes the loops that take in many values and give one, each with a
// second form that passes over what a bitmap has no bit for.
func reduce(g *gen) {
	for _, e := range elements {
		if e.kind != float && !(e.kind == signed && e.size == 8) { // wrapped sums of both 64-bit types are one
			sumLoop(g, e, false)
			sumLoop(g, e, true)
		}
		for _, greatest := range []bool{false, true} {
			extremeLoop(g, e, greatest, false)
			extremeLoop(g, e, greatest, true)
		}
		if e.kind != unsigned && e.size >= 4 {
			bothExtremesLoop(g, e)
		}
	}
	for _, valid := range []bool{false, true} {
		sumBlocksLoop(g, valid)
		deviateBlocksLoop(g, valid)
	}
}

// sumStep is how many values the sums take at a time, extremeStep how many
// bytes of them the extremes do.
const (
	sumStep     = 32
	extremeStep = 256
)

// validPart is the text and the parameter of the second form.
func validPart(valid bool, line string) (name, param, text string) {
	if !valid {
		return "", "", "\t\t" + line
	}
	return "Valid", ", valid []byte", "\t\tif valid[i/8]>>(i%8)&1 != 0 {\n\t\t\t" + line + "\n\t\t}"
}

// widened loads as many values as 64-bit lanes fit a vector register, extended
// to them; where k is given, zero for those that it has no bit for.
func widened(g *gen, e element, from operand.Mem, k reg.Register) reg.VecVirtual {
	v := g.vector()
	if k != nil {
		switch {
		case e.size == 8:
			g.VMOVDQU64_Z(from, k, v)
		case e.kind == signed:
			map[int]func(m, k, v operand.Op){1: g.VPMOVSXBQ_Z, 2: g.VPMOVSXWQ_Z, 4: g.VPMOVSXDQ_Z}[e.size](from, k, v)
		default:
			map[int]func(m, k, v operand.Op){1: g.VPMOVZXBQ_Z, 2: g.VPMOVZXWQ_Z, 4: g.VPMOVZXDQ_Z}[e.size](from, k, v)
		}
		return v
	}
	switch {
	case e.size == 8:
		g.load(from, v)
	case e.kind == signed:
		map[int]func(...operand.Op){1: g.VPMOVSXBQ, 2: g.VPMOVSXWQ, 4: g.VPMOVSXDQ}[e.size](from, v)
	default:
		map[int]func(...operand.Op){1: g.VPMOVZXBQ, 2: g.VPMOVZXWQ, 4: g.VPMOVZXDQ}[e.size](from, v)
	}
	return v
}

func sumLoop(g *gen, e element, valid bool) {
	name, param, line := validPart(valid, "n += uint64(v[i])")
	g.function("sum"+name+e.suffix, "(v []"+e.name+param+") uint64", `is
	n := uint64(0)
	for i := range v {
`+line+`
	}
len(v) is a multiple of 32.`)
	v, n := g.base("v"), g.length("v")
	var bitmap reg.Register
	var sel bitSelectors
	if valid {
		bitmap, sel = g.base("valid"), g.bitsFor(8)
	}
	var sums [4]reg.VecVirtual
	for i := range sums {
		sums[i] = g.zero()
	}
	g.SHRQ(operand.U8(5), n)
	quads := g.bytes / 8
	g.count(n, func() {
		for i := 0; i < sumStep; i += quads {
			from, sum := at(v, i*e.size), sums[i/quads%4]
			switch {
			case !valid && e.size == 8:
				g.VPADDQ(from, sum, sum)
			case valid && g.wide():
				x := widened(g, e, from, g.laneBits(8, bitmap, i))
				g.VPADDQ(x, sum, sum)
			default:
				x := widened(g, e, from, nil)
				if valid {
					g.VPAND(g.laneMask(sel, 8, bitmap, i), x, x)
				}
				g.VPADDQ(x, sum, sum)
			}
		}
		g.advance(sumStep*e.size, v)
		if valid {
			g.advance(sumStep/8, bitmap)
		}
	})
	g.VPADDQ(sums[1], sums[0], sums[0])
	g.VPADDQ(sums[3], sums[2], sums[2])
	g.VPADDQ(sums[2], sums[0], sums[0])
	g.Store(g.sumQuads(sums[0]), g.ReturnIndex(0))
	g.leave()
}

// extreme makes acc the greater or lesser of x and acc, of acc where x is NaN
// or equal.
func extreme(g *gen, e element, greatest bool, x operand.Op, acc reg.VecVirtual, bias reg.VecVirtual) {
	if e.size == 8 && e.kind != float && !g.wide() {
		v, more := g.vector(), g.vector()
		g.load(x.(operand.Mem), v)
		a, b := v, acc // of the signed comparison a > b
		if e.kind == unsigned {
			a, b = g.vector(), g.vector()
			g.VPXOR(bias, v, a)
			g.VPXOR(bias, acc, b)
		}
		if !greatest {
			a, b = b, a
		}
		g.VPCMPGTQ(b, a, more)
		g.VPBLENDVB(more, v, acc, acc)
		return
	}
	extremeOp(g, e, greatest)(x, acc, nil, acc)
}

// extremeOp is the instruction; where k is given, lanes without a bit keep
// what dst has. MINPD and MAXPD give their second source, which is Go's second
// operand, where the comparison does not hold: so x is the first source.
func extremeOp(g *gen, e element, greatest bool) func(x operand.Op, acc reg.VecVirtual, k reg.Register, dst reg.VecVirtual) {
	names := map[string]func(...operand.Op){
		"int8<": g.VPMINSB, "int16<": g.VPMINSW, "int32<": g.VPMINSD, "int64<": g.VPMINSQ,
		"int8>": g.VPMAXSB, "int16>": g.VPMAXSW, "int32>": g.VPMAXSD, "int64>": g.VPMAXSQ,
		"uint8<": g.VPMINUB, "uint16<": g.VPMINUW, "uint32<": g.VPMINUD, "uint64<": g.VPMINUQ,
		"uint8>": g.VPMAXUB, "uint16>": g.VPMAXUW, "uint32>": g.VPMAXUD, "uint64>": g.VPMAXUQ,
		"float32<": g.VMINPS, "float64<": g.VMINPD, "float32>": g.VMAXPS, "float64>": g.VMAXPD,
	}
	sign := "<"
	if greatest {
		sign = ">"
	}
	op := names[e.name+sign]
	return func(x operand.Op, acc reg.VecVirtual, k reg.Register, dst reg.VecVirtual) {
		if e.kind == float {
			v := g.vector()
			g.load(x.(operand.Mem), v)
			if k != nil {
				op(acc, v, k, dst)
				return
			}
			op(acc, v, dst)
			return
		}
		if k != nil {
			op(x, acc, k, dst)
			return
		}
		op(x, acc, dst)
	}
}

func extremeLoop(g *gen, e element, greatest, valid bool) {
	name, sign := "least", "<"
	if greatest {
		name, sign = "greatest", ">"
	}
	suffix, param, line := validPart(valid, fmt.Sprintf("lanes[i%%%d] = v[i] // if v[i] %s lanes[i%%%d]", 64/e.size, sign, 64/e.size))
	g.function(name+suffix+e.suffix, "(lanes, v []"+e.name+param+")", fmt.Sprintf(`is
	for i := range v {
%s
	}
or any other way to deal v out to the %d lanes. len(v) is a multiple of %d.`, line, 64/e.size, extremeStep/e.size))
	lanes, v, n := g.base("lanes"), g.base("v"), g.length("v")
	var bitmap reg.Register
	var sel bitSelectors
	if valid {
		bitmap, sel = g.base("valid"), g.bitsFor(e.size)
	}
	var bias reg.VecVirtual
	if e.kind == unsigned && e.size == 8 && !g.wide() {
		bias = g.everyQuad(1 << 63)
	}
	accs := make([]reg.VecVirtual, 4)
	per := 64 / g.bytes // registers that hold the lanes
	for i := range accs {
		accs[i] = g.vector()
		g.load(at(lanes, i%per*g.bytes), accs[i])
	}
	shift := map[int]uint8{1: 8, 2: 7, 4: 6, 8: 5}[e.size]
	g.SHRQ(operand.U8(shift), n)
	g.count(n, func() {
		for at0 := 0; at0 < extremeStep; at0 += g.bytes {
			acc, from := accs[at0/g.bytes%4], at(v, at0)
			switch {
			case valid && g.wide():
				extremeOp(g, e, greatest)(from, acc, g.laneBits(e.size, bitmap, at0/e.size), acc)
			case valid:
				next := g.vector()
				g.VMOVDQA(acc, next)
				extreme(g, e, greatest, from, next, bias)
				g.VPBLENDVB(g.laneMask(sel, e.size, bitmap, at0/e.size), next, acc, acc)
			default:
				extreme(g, e, greatest, from, acc, bias)
			}
		}
		g.advance(extremeStep, v)
		if valid {
			g.advance(extremeStep/e.size/8, bitmap)
		}
	})
	// The four become as many as hold the lanes, by way of the lanes' memory.
	for i := 3; i >= per; i-- {
		g.store(accs[i], at(lanes, i%per*g.bytes))
		extreme(g, e, greatest, at(lanes, i%per*g.bytes), accs[i%per], bias)
	}
	for i := range per {
		g.store(accs[i], at(lanes, i*g.bytes))
	}
	g.leave()
}

// bothExtremesLoop is the least and the greatest loop in one: a column that
// comes from memory is read once, without a pause between two passes.
func bothExtremesLoop(g *gen, e element) {
	lanes := 64 / e.size
	g.function("extremes"+e.suffix, "(low, high, v []"+e.name+")", fmt.Sprintf(`is
	for i := range v {
		low[i%%%d] = v[i]  // if v[i] < low[i%%%d]
		high[i%%%d] = v[i] // if v[i] > high[i%%%d]
	}
or any other way to deal v out to the %d lanes. len(v) is a multiple of %d.`, lanes, lanes, lanes, lanes, lanes, extremeStep/e.size))
	low, high, v, n := g.base("low"), g.base("high"), g.base("v"), g.length("v")
	per := max(2, 64/g.bytes) // registers that hold the lanes, two at least: an extreme waits for the one before
	lows, highs := make([]reg.VecVirtual, per), make([]reg.VecVirtual, per)
	for i := range per {
		lows[i], highs[i] = g.vector(), g.vector()
		g.load(at(low, i*g.bytes%64), lows[i])
		g.load(at(high, i*g.bytes%64), highs[i])
	}
	g.SHRQ(operand.U8(map[int]uint8{4: 6, 8: 5}[e.size]), n)
	g.count(n, func() {
		for at0 := 0; at0 < extremeStep; at0 += g.bytes {
			i := at0 / g.bytes % per
			x := g.loaded(at(v, at0))
			g.ahead(v, at0)
			g.extremeOf(e, false, x, lows[i])
			g.extremeOf(e, true, x, highs[i])
		}
		g.advance(extremeStep, v)
	})
	for i := per - 1; i >= 64/g.bytes; i-- {
		g.extremeOf(e, false, lows[i], lows[i-1])
		g.extremeOf(e, true, highs[i], highs[i-1])
	}
	for i := range 64 / g.bytes {
		g.store(lows[i], at(low, i*g.bytes))
		g.store(highs[i], at(high, i*g.bytes))
	}
	g.leave()
}

// extremeOf is extreme of registers, of signed numbers and floats.
func (g *gen) extremeOf(e element, greatest bool, x, acc reg.VecVirtual) {
	switch {
	case e.kind == float:
		op := map[string]func(...operand.Op){"4false": g.VMINPS, "4true": g.VMAXPS, "8false": g.VMINPD, "8true": g.VMAXPD}[fmt.Sprintf("%d%t", e.size, greatest)]
		op(acc, x, acc)
	case e.size == 8 && !g.wide():
		more := g.vector()
		if greatest {
			g.VPCMPGTQ(acc, x, more)
		} else {
			g.VPCMPGTQ(x, acc, more)
		}
		g.VPBLENDVB(more, x, acc, acc)
	default:
		op := map[string]func(...operand.Op){"4false": g.VPMINSD, "4true": g.VPMAXSD, "8false": g.VPMINSQ, "8true": g.VPMAXSQ}[fmt.Sprintf("%d%t", e.size, greatest)]
		op(x, acc, acc)
	}
}
