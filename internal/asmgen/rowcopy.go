package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowCopy makes the loops that copy rows, or words of columns, which they ask for long
// before. Longer vectors would not have them come sooner: they are AVX2's only.
func rowCopy(g *gen) {
	if g.wide() {
		return
	}
	g.copyRows("copyWide", "copies n rows of 32 bytes and more, and asks for ahead of them, n at most, before they are copied.",
		(*copiedRows).askLines, (*copiedRows).moveWide)
	g.copyRows("copyNarrow", "is copyWide of rows of 16 to 32 bytes.", (*copiedRows).askEnds, func(c *copiedRows) {
		a, b, end := c.g.XMM(), c.g.XMM(), operand.Mem{Base: c.row, Index: c.width, Scale: 1, Disp: -16}
		c.g.VMOVDQU(at(c.row, 0), a)
		c.g.VMOVDQU(end, b)
		c.g.VMOVDQU(a, at(c.to, 0))
		end.Base = c.to
		c.g.VMOVDQU(b, end)
	})
	g.copyRows("copyEights", "is copyWide of rows of 8 to 16 bytes.", (*copiedRows).askEnds, func(c *copiedRows) {
		a, b, end := c.g.GP64(), c.g.GP64(), operand.Mem{Base: c.row, Index: c.width, Scale: 1, Disp: -8}
		c.g.MOVQ(at(c.row, 0), a)
		c.g.MOVQ(end, b)
		c.g.MOVQ(a, at(c.to, 0))
		end.Base = c.to
		c.g.MOVQ(b, end)
	})
	g.copyRows("copyFours", "is copyWide of rows of 4 to 8 bytes.", (*copiedRows).askEnds, func(c *copiedRows) {
		a, b, end := c.g.GP32(), c.g.GP32(), operand.Mem{Base: c.row, Index: c.width, Scale: 1, Disp: -4}
		c.g.MOVL(at(c.row, 0), a)
		c.g.MOVL(end, b)
		c.g.MOVL(a, at(c.to, 0))
		end.Base = c.to
		c.g.MOVL(b, end)
	})
	g.copyWords()
	g.copyChunkedWords()
}

// copiedRows are the registers of a loop over rows: where the next one goes, the first of
// all, their width, and a row at hand.
type copiedRows struct {
	g                    *gen
	to, from, width, row reg.GPVirtual
}

// copyRows makes a loop: ask asks for the row at hand, move copies it.
func (g *gen) copyRows(name, doc string, ask, move func(*copiedRows)) {
	g.function(name, "(to *byte, step int, from *byte, width int, rows *int64, n, ahead int)", doc)
	load := func(param string) reg.GPVirtual { return g.Load(g.Param(param), g.GP64()).(reg.GPVirtual) }
	c := &copiedRows{g: g, to: load("to"), from: load("from"), width: load("width"), row: g.GP64()}
	step, rows, n, ahead := load("step"), load("rows"), load("n"), load("ahead")
	g.SUBQ(ahead, n) // those whose numbers stand ahead of others are asked for beside these
	find := func(number operand.Mem) {
		g.MOVQ(number, c.row)
		g.IMULQ(c.width, c.row)
		g.ADDQ(c.from, c.row)
	}
	next := func() {
		find(at(rows, 0))
		move(c)
		g.ADDQ(step, c.to)
		g.advance(8, rows)
	}
	first, left := g.GP64(), g.GP64()
	g.MOVQ(rows, first)
	g.MOVQ(ahead, left)
	g.count(left, func() {
		find(at(first, 0))
		ask(c)
		g.advance(8, first)
	})
	g.count(n, func() {
		find(operand.Mem{Base: rows, Index: ahead, Scale: 8})
		ask(c)
		next()
	})
	g.count(ahead, next)
	g.leave()
}

// askEnds asks for the first and the last byte of the row, which may be in two lines.
func (c *copiedRows) askEnds() {
	c.g.PREFETCHT0(at(c.row, 0))
	c.g.PREFETCHT0(operand.Mem{Base: c.row, Index: c.width, Scale: 1, Disp: -1})
}

// askLines asks for all lines of the row: it may be in one more than its width has. The
// row is behind it then.
func (c *copiedRows) askLines() {
	last, line := c.g.GP64(), c.g.label("line")
	c.g.LEAQ(operand.Mem{Base: c.row, Index: c.width, Scale: 1, Disp: -1}, last)
	c.g.Label(line)
	c.g.PREFETCHT0(at(c.row, 0))
	c.g.advance(64, c.row)
	c.g.CMPQ(c.row, last)
	c.g.JLS(operand.LabelRef(line))
	c.g.PREFETCHT0(at(last, 0))
}

// moveWide copies the row in steps of 32 bytes, of which the last may overlap the one
// before.
func (c *copiedRows) moveWide() {
	g := c.g
	from, offset, v := g.GP64(), g.GP64(), g.YMM()
	part, end := g.label("part"), g.label("end")
	g.LEAQ(at(c.width, -32), from)
	g.XORQ(offset, offset)
	copied := func(offset reg.Register) {
		g.VMOVDQU(operand.Mem{Base: c.row, Index: offset, Scale: 1}, v)
		g.VMOVDQU(v, operand.Mem{Base: c.to, Index: offset, Scale: 1})
	}
	g.CMPQ(offset, from)
	g.JGE(operand.LabelRef(end))
	g.Label(part)
	copied(offset)
	g.advance(32, offset)
	g.CMPQ(offset, from)
	g.JLT(operand.LabelRef(part))
	g.Label(end)
	copied(from)
}

func (g *gen) copyWords() {
	g.function("words", "(to *uint32, step int, places *int32, from *uint32, rows *int64, n int, next *uint32, nextRows *int64)",
		"is Words of n rows, one at least.")
	load := func(param string) reg.Register { return g.Load(g.Param(param), g.GP64()) }
	to, step, places, from, rows, n, next, nextRows := load("to"), load("step"), load("places"), load("from"), load("rows"), load("n"), load("next"), load("nextRows")
	row, place, word := g.GP64(), g.GP64(), g.GP32()
	g.count(n, func() {
		g.MOVQ(at(nextRows, 0), place)
		g.MOVQ(at(rows, 0), row)
		g.PREFETCHT0(operand.Mem{Base: next, Index: place, Scale: 4})
		g.MOVLQSX(at(places, 0), place)
		g.IMULQ(step, place)
		g.MOVL(operand.Mem{Base: from, Index: row, Scale: 4}, word)
		g.MOVL(word, operand.Mem{Base: to, Index: place, Scale: 4})
		g.advance(8, rows, nextRows)
		g.advance(4, places)
	})
	g.RET()
}

func (g *gen) copyChunkedWords() {
	g.function("chunkedWords", "(to *uint32, step int, places *int32, from **uint32, rows *int64, chunk *int32, n int, next **uint32)",
		"is ChunkedWords of n rows, one at least.")
	load := func(param string) reg.Register { return g.Load(g.Param(param), g.GP64()) }
	to, step, places, from, rows, chunk, n, next := load("to"), load("step"), load("places"), load("from"), load("rows"), load("chunk"), load("n"), load("next")
	row, at4, place, word := g.GP64(), g.GP64(), g.GP64(), g.GP64()
	g.count(n, func() {
		g.MOVLQSX(at(chunk, 0), at4)
		g.MOVQ(at(rows, 0), row)
		g.MOVQ(operand.Mem{Base: next, Index: at4, Scale: 8}, word)
		g.PREFETCHT0(operand.Mem{Base: word, Index: row, Scale: 4})
		g.MOVQ(operand.Mem{Base: from, Index: at4, Scale: 8}, word)
		g.MOVL(operand.Mem{Base: word, Index: row, Scale: 4}, word.As32())
		g.MOVLQSX(at(places, 0), place)
		g.IMULQ(step, place)
		g.MOVL(word.As32(), operand.Mem{Base: to, Index: place, Scale: 4})
		g.advance(8, rows)
		g.advance(4, chunk, places)
	})
	g.RET()
}
