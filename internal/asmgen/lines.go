package main

import (
	"strconv"

	"github.com/mmcloughlin/avo/operand"
)

// lines makes the loops that gather rows of parts in lines and store these past
// the caches.
func lines(g *gen) {
	linesLoop(g, 8)
	linesLoop(g, 4)
	recordsLoop(g)
	lineStore(g)
}

// linesLoop is for rows of so many bytes beside each word.
func linesLoop(g *gen, size int) {
	name, lanes := strconv.Itoa(8*size), 64/size
	bytes := lanes*8 + 64 // of a part
	g.function("lines"+name, "(parts []uint16, words []uint64, rows []uint"+name+", places, starts []uint32, room []uint64, toWords []uint64, toRows []uint"+name+") (taken int)",
		`is putLines. rows and parts are no shorter than words. The first bytes of room, toWords
and toRows are those of a line.`)
	parts, words, n, rows := g.base("parts"), g.base("words"), g.length("words"), g.base("rows")
	places, starts, room := g.base("places"), g.base("starts"), g.base("room")
	toWords, toRows := g.base("toWords"), g.base("toRows")
	top, on, full, end := g.label("top"), g.label("on"), g.label("full"), g.label("end")
	part, place, line, lane, v := g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64()
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef(end))
	g.Label(top)
	g.MOVWLZX(at(parts, 0), part.As32())
	g.MOVL(operand.Mem{Base: places, Index: part, Scale: 4}, place.As32())
	g.IMUL3Q(operand.U32(bytes), part, line)
	g.ADDQ(room, line)
	g.LEAL(operand.Mem{Base: place, Disp: 1}, lane.As32())
	g.MOVL(lane.As32(), operand.Mem{Base: places, Index: part, Scale: 4})
	g.MOVL(place.As32(), lane.As32())
	g.ANDL(operand.U32(lanes-1), lane.As32())
	g.MOVQ(at(words, 0), v)
	g.MOVQ(v, operand.Mem{Base: line, Index: lane, Scale: 8})
	if size == 8 {
		g.MOVQ(at(rows, 0), v)
		g.MOVQ(v, operand.Mem{Base: line, Index: lane, Scale: 8, Disp: lanes * 8})
	} else {
		g.MOVL(at(rows, 0), v.As32())
		g.MOVL(v.As32(), operand.Mem{Base: line, Index: lane, Scale: 4, Disp: lanes * 8})
	}
	g.advance(2, parts)
	g.advance(8, words)
	g.advance(size, rows)
	g.DECQ(n)
	g.CMPL(lane.As32(), operand.U32(lanes-1))
	g.JEQ(operand.LabelRef(full))
	g.Label(on)
	g.TESTQ(n, n)
	g.JNZ(operand.LabelRef(top))
	g.JMP(operand.LabelRef(end))
	g.Label(full)
	g.SUBL(operand.U32(lanes-1), place.As32())
	g.CMPL(place.As32(), operand.Mem{Base: starts, Index: part, Scale: 4})
	g.JCS(operand.LabelRef(end))
	for b := 0; b < bytes; b += g.bytes {
		to := operand.Mem{Base: toWords, Index: place, Scale: 8, Disp: b}
		if b >= lanes*8 {
			to = operand.Mem{Base: toRows, Index: place, Scale: uint8(size), Disp: b - lanes*8}
		}
		g.VMOVNTDQ(g.loaded(at(line, b)), to)
	}
	g.JMP(operand.LabelRef(on))
	g.Label(end)
	g.SFENCE()
	taken := g.length("words")
	g.SUBQ(n, taken)
	g.Store(taken, g.Return("taken"))
	g.leave()
}

// recordsLoop is for records of two words, whose lines have their places in them.
func recordsLoop(g *gen) {
	g.function("records", "(words, values []uint64, shift uint, mask uint64, room []uint64, blocks []*uint64, fold uint) (taken int)",
		`is putRecords. The first bytes of room and of each block are those of a line, shift
and fold are below 64. What was stored is seen by others after a fence.`)
	words, n, values, room, blocks := g.base("words"), g.length("words"), g.base("values"), g.base("room"), g.base("blocks")
	shift, mask, fold := g.Load(g.Param("shift"), g.GP64()), g.Load(g.Param("mask"), g.GP64()), g.Load(g.Param("fold"), g.GP64())
	top, on, full, end := g.label("top"), g.label("on"), g.label("full"), g.label("end")
	w, v, part, line, place, lane := g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64()
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef(end))
	g.Label(top)
	g.MOVQ(at(words, 0), w)
	g.MOVQ(at(values, 0), v)
	g.SHRXQ(shift, w, part)
	g.ANDQ(mask, part)
	g.MOVQ(part, line)
	g.SHLQ(operand.U8(6), line)
	g.ADDQ(room, line)
	g.MOVQ(at(line, 48), place)
	g.MOVL(place.As32(), lane.As32())
	g.ANDL(operand.U32(3), lane.As32())
	g.CMPL(lane.As32(), operand.U32(3))
	g.JEQ(operand.LabelRef(full))
	g.INCQ(place)
	g.MOVQ(place, at(line, 48))
	g.SHLL(operand.U8(4), lane.As32())
	g.MOVQ(w, operand.Mem{Base: line, Index: lane, Scale: 1})
	g.MOVQ(v, operand.Mem{Base: line, Index: lane, Scale: 1, Disp: 8})
	g.Label(on)
	g.advance(8, words, values)
	g.DECQ(n)
	g.JNZ(operand.LabelRef(top))
	g.JMP(operand.LabelRef(end))
	g.Label(full)
	start, first := g.GP64(), lane
	g.MOVQ(place, start)
	g.SHRQ(operand.U8(32), start)
	g.LEAL(operand.Mem{Base: place, Disp: -3}, first.As32())
	g.CMPL(first.As32(), start.As32())
	g.JCS(operand.LabelRef(end))
	g.MOVQ(w, at(line, 48))
	g.MOVQ(v, at(line, 56))
	g.SHRXQ(fold, part, part)
	g.MOVQ(operand.Mem{Base: blocks, Index: part, Scale: 8}, part)
	g.SHLQ(operand.U8(4), first)
	for b := 0; b < 64; b += g.bytes {
		g.VMOVNTDQ(g.loaded(at(line, b)), operand.Mem{Base: part, Index: first, Scale: 1, Disp: b})
	}
	g.INCQ(place)
	g.MOVQ(place, at(line, 48))
	g.JMP(operand.LabelRef(on))
	g.Label(end)
	taken := g.length("words")
	g.SUBQ(n, taken)
	g.Store(taken, g.Return("taken"))
	g.leave()
}

// lineStore is for one line of words and one of others.
func lineStore(g *gen) {
	g.function("storeLines", "(a, b *uint64, line *uint64)",
		`is copy(a[:8], line[:8]) and copy(b[:8], line[8:16]), all of which begin a line of the
caches. What was stored is seen by others after a fence.`)
	a, b, line := g.Load(g.Param("a"), g.GP64()), g.Load(g.Param("b"), g.GP64()), g.Load(g.Param("line"), g.GP64())
	for i := 0; i < 64; i += g.bytes {
		g.VMOVNTDQ(g.loaded(at(line, i)), at(a, i))
		g.VMOVNTDQ(g.loaded(at(line, 64+i)), at(b, i))
	}
	g.leave()
}
