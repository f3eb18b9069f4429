package main

import (
	"strconv"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// filter makes the loops that keep the values that a bitmap has a bit for.
func filter(g *gen) {
	for _, size := range []int{1, 2, 4, 8, 16} {
		filterLoop(g, size, filterAhead)
	}
	compressLoop(g)
}

// filterStep is the rows that a filter takes at a time.
const filterStep = 64

// filterAhead is how far ahead a filter asks for what it reads: the loop waits for
// a bit count with each register, so that less of what follows is under way.
const filterAhead = 2048

// pickAhead is that of a filter that goes on in another column every some pages: what
// it asks for behind them is there when it comes back.
const pickAhead = 8192

// pickLoop makes the filter of words for columns that are laid by rows.
func pickLoop(g *gen) { filterLoop(g, 4, pickAhead) }

// filterLoop stores whole registers, of which the next store overwrites what is
// too much, and so stops 64 values before the end of dst. Wide registers are
// compressed in place: the form of VPCOMPRESS that stores is microcode on Zen 4.
func filterLoop(g *gen, size, ahead int) {
	name := "uint" + strconv.Itoa(8*size)
	if size == 16 {
		name = "[2]uint64"
	}
	g.function("filter"+strconv.Itoa(8*size), "(dst, src []"+name+", mask []byte) (rows, kept int)", `is
	for rows = 0; rows < len(src) && len(dst) - kept >= 64; rows += 64 {
		for i := rows; i < rows+64; i++ {
			if mask[i/8]>>(i%8)&1 != 0 {
				dst[kept] = src[i]
				kept++
			}
		}
	}
and may write anything to dst[kept:]. len(src) is a multiple of 64.`)
	dst, room := g.base("dst"), g.length("dst")
	src, n := g.base("src"), g.length("src")
	mask := g.base("mask")
	from, begin, last := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(src, from)
	g.MOVQ(dst, begin)
	g.SHRQ(operand.U8(6), n)
	if size == 16 {
		g.ADDQ(room, room)
	}
	g.LEAQ(operand.Mem{Base: dst, Index: room, Scale: filterScale(size), Disp: -filterStep * size}, last) // the last place to begin at
	top, none, end := g.label("top"), g.label("none"), g.label("end")
	pairs := g.GP64() // of AVX2: what spreads bits, or where places are
	switch {
	case g.wide() && size == 16:
		filterMasks(g, pairs)
	case !g.wide():
		filterPlaces(g, size, pairs)
	}
	g.Label(top)
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef(end))
	g.CMPQ(dst, last)
	g.JGT(operand.LabelRef(end))
	word := g.GP64()
	g.MOVQ(at(mask, 0), word)
	g.TESTQ(word, word)
	g.JZ(operand.LabelRef(none))
	for line := 0; line < filterStep*size; line += 64 {
		g.aheadBy(ahead, src, line)
	}
	switch {
	case g.wide() && size == 16:
		filterWidePairs(g, dst, src, word, pairs)
	case g.wide():
		filterWide(g, size, dst, src, mask)
	default:
		filterPairs(g, size, dst, src, word, pairs)
	}
	g.Label(none)
	g.advance(filterStep*size, src)
	g.advance(filterStep/8, mask)
	g.DECQ(n)
	g.JMP(operand.LabelRef(top))
	g.Label(end)
	shift := operand.U8(map[int]uint8{1: 0, 2: 1, 4: 2, 8: 3, 16: 4}[size])
	g.SUBQ(from, src)
	g.SHRQ(shift, src)
	g.Store(src, g.Return("rows"))
	g.SUBQ(begin, dst)
	g.SHRQ(shift, dst)
	g.Store(dst, g.Return("kept"))
	g.leave()
}

// filterScale is the scale of an index that counts values, or pairs of words of 16
// bytes' twice.
func filterScale(size int) uint8 { return uint8(min(size, 8)) }

// filterMasks loads where the masks of filterWidePairs lie: two bits for each one of
// four.
func filterMasks(g *gen, to reg.Register) {
	m := g.StaticGlobal(g.label("masks"))
	g.DataAttributes(readOnly)
	for kept := range 16 {
		mask := uint8(0)
		for lane := range 4 {
			mask |= uint8(kept>>lane&1*3) << (2 * lane)
		}
		g.AddDatum(kept, operand.U8(mask))
	}
	g.LEAQ(m, to)
}

// filterWidePairs compresses registers of four values of two words.
func filterWidePairs(g *gen, dst, src, word, masks reg.Register) {
	const lanes = 4
	for row := 0; row < filterStep; row += lanes {
		v, k, bits, count := g.ZMM(), g.K(), g.GP64(), g.GP64()
		g.MOVL(word.(reg.GPVirtual).As32(), bits.As32())
		g.ANDL(operand.U32(1<<lanes-1), bits.As32())
		g.MOVBLZX(operand.Mem{Base: masks, Index: bits, Scale: 1}, bits.As32())
		g.KMOVW(bits.As32(), k)
		g.POPCNTL(bits.As32(), count.As32())
		g.VMOVDQU64(at(src, row*16), v)
		g.VPCOMPRESSQ_Z(v, k, v)
		g.VMOVDQU64(v, at(dst, 0))
		g.LEAQ(operand.Mem{Base: dst, Index: count, Scale: 8}, dst)
		if row+lanes < filterStep {
			g.SHRQ(operand.U8(lanes), word)
		}
	}
}

// filterWide compresses registers of eight 64-bit or sixteen 32-bit lanes;
// narrower values are widened to these on the way.
func filterWide(g *gen, size int, dst, src, mask reg.Register) {
	lanes := 16
	if size == 8 {
		lanes = 8
	}
	for row := 0; row < filterStep; row += lanes {
		v, k, bits, count := g.ZMM(), g.K(), g.GP32(), g.GP64()
		from := at(src, row*size)
		if size == 8 {
			g.MOVBLZX(at(mask, row/8), bits)
		} else {
			g.MOVWLZX(at(mask, row/8), bits)
		}
		g.KMOVW(bits, k)
		g.POPCNTL(bits, count.As32())
		switch size {
		case 8:
			g.VMOVDQU64(from, v)
			g.VPCOMPRESSQ_Z(v, k, v)
			g.VMOVDQU64(v, at(dst, 0))
		case 4:
			g.VMOVDQU32(from, v)
			g.VPCOMPRESSD_Z(v, k, v)
			g.VMOVDQU32(v, at(dst, 0))
		case 2:
			y := g.YMM()
			g.VPMOVZXWD(from, v)
			g.VPCOMPRESSD_Z(v, k, v)
			g.VPMOVDW(v, y)
			g.VMOVDQU(y, at(dst, 0))
		default:
			x := g.XMM()
			g.VPMOVZXBD(from, v)
			g.VPCOMPRESSD_Z(v, k, v)
			g.VPMOVDB(v, x)
			g.VMOVDQU(x, at(dst, 0))
		}
		g.LEAQ(operand.Mem{Base: dst, Index: count, Scale: uint8(size)}, dst)
	}
}

// filterPlaces loads what filterPairs needs. Of wider values that are the places of the
// kept ones among some rows, for each way to keep them: as 32-bit lanes of pairs, which
// VPERMD takes as they are, for the 16 of four rows, and as bytes, 2 KiB, for the 256 of
// eight. Making them (PDEP, PEXT, and a move between registers of both kinds for each
// four rows) took a quarter longer on Zen 3, and is microcode on Zen 2.
func filterPlaces(g *gen, size int, to reg.Register) {
	if size <= 2 {
		g.MOVQ(operand.U64(map[int]uint64{1: 0x0101010101010101, 2: 0x0001000100010001}[size]), to)
		return
	}
	lanes := 32 / size
	m := g.StaticGlobal(g.label("places"))
	g.DataAttributes(readOnly)
	for kept := range 1 << lanes {
		next := 0
		for lane := range lanes {
			switch {
			case kept>>lane&1 == 0:
			case size == 16:
				g.AddDatum(32*kept+16*next, operand.U64(uint64(4*lane)|uint64(4*lane+1)<<32))
				g.AddDatum(32*kept+16*next+8, operand.U64(uint64(4*lane+2)|uint64(4*lane+3)<<32))
				next++
			case size == 8:
				g.AddDatum(32*kept+8*next, operand.U64(uint64(2*lane)|uint64(2*lane+1)<<32))
				next++
			default:
				g.AddDatum(8*kept+next, operand.U8(uint8(lane)))
				next++
			}
		}
		for ; next < lanes; next++ {
			if size == 16 {
				g.AddDatum(32*kept+16*next, operand.U64(0))
				g.AddDatum(32*kept+16*next+8, operand.U64(0))
			} else if size == 8 {
				g.AddDatum(32*kept+8*next, operand.U64(0))
			} else {
				g.AddDatum(8*kept+next, operand.U8(0))
			}
		}
	}
	g.LEAQ(m, to)
}

// filterPairs brings the kept ones of some rows together. Small values go by PEXT, for
// which the rows' bits are spread to bytes or pairs of them; wider ones by VPERMD, to
// the places of a table.
func filterPairs(g *gen, size int, dst, src, word, pairs reg.Register) {
	lanes := map[int]int{1: 8, 2: 4, 4: 8, 8: 4, 16: 2}[size]
	for row := 0; row < filterStep; row += lanes {
		bits, count := g.GP64(), g.GP64()
		g.MOVL(word.(reg.GPVirtual).As32(), bits.As32())
		g.ANDL(operand.U32(uint32(1)<<lanes-1), bits.As32())
		g.POPCNTL(bits.As32(), count.As32())
		from := at(src, row*size)
		switch size {
		case 8, 16:
			v := g.YMM()
			g.SHLL(operand.U8(5), bits.As32())
			g.VMOVDQU(operand.Mem{Base: pairs, Index: bits, Scale: 1}, v)
			g.VPERMD(from, v, v)
			g.VMOVDQU(v, at(dst, 0))
		case 4:
			v := g.YMM()
			g.VPMOVZXBD(operand.Mem{Base: pairs, Index: bits, Scale: 8}, v)
			g.VPERMD(from, v, v)
			g.VMOVDQU(v, at(dst, 0))
		default:
			wide, v := g.GP64(), g.GP64()
			g.PDEPQ(pairs, bits, bits)
			g.MOVQ(bits, wide) // times 2^k - 1
			g.SHLQ(operand.U8(64/lanes), wide)
			g.SUBQ(bits, wide)
			g.MOVQ(from, v)
			g.PEXTQ(wide, v, v)
			g.MOVQ(v, at(dst, 0))
		}
		if size == 16 {
			g.ADDL(count.As32(), count.As32())
		}
		g.LEAQ(operand.Mem{Base: dst, Index: count, Scale: filterScale(size)}, dst)
		if row+lanes < filterStep {
			g.SHRQ(operand.U8(lanes), word)
		}
	}
}

func compressLoop(g *gen) {
	g.function("compressWords", "(v, mask []uint64)", `moves the bits of each v[i] that are set in mask[i] to the low
end; those above become 0. mask is no shorter than v.`)
	v, n, mask := g.base("v"), g.length("v"), g.base("mask")
	g.count(n, func() {
		w := g.GP64()
		g.MOVQ(at(v, 0), w)
		g.PEXTQ(at(mask, 0), w, w)
		g.MOVQ(w, at(v, 0))
		g.advance(8, v, mask)
	})
	g.RET()
}
