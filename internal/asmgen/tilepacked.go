package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The loop over operands that are packed for tiles of the most rows and all
// columns, so that each step's distance is known when it is assembled: what is
// not a sum of products is done once for tileSteps steps.
const tileSteps = 4

// tileSoon is how many times tileSteps steps before the end C is asked for: long
// enough for it to come, and so late that operands that come meanwhile do not
// drive it out of the first-level cache, where rows a power of two apart share
// few places.
const tileSoon = 8

// The registers of this loop.
var (
	packedA, packedB    = reg.RSI, reg.RBX
	packedN, packedLeft = reg.RAX, reg.RCX
	packedC, packedRow  = reg.R8, reg.RDX
	packedRow3          = reg.R11
	packedAsk3          = reg.R12
	packedRest          = reg.R9
	packedCompare       = reg.RAX
)

// unlessPacked goes elsewhere with tiles that this loop is not for.
func (t *tileWriter) unlessPacked(elsewhere string) {
	for _, f := range [][2]int{{tileCols, tileVectors * t.lanes}, {tileRowA, 1}, {tileStepA, t.most}, {tileStepB, tileVectors * t.lanes}} {
		t.MOVQ(t.field(f[0]), packedCompare)
		t.CMPQ(packedCompare, operand.U8(f[1]))
		t.JNE(operand.LabelRef(elsewhere))
	}
}

func (t *tileWriter) packed() {
	t.here(tileA, tileAtA, packedA, packedN)
	t.here(tileB, tileAtB, packedB, packedN)
	t.here(tileTo, tileAtTo, packedC, packedRow)
	t.here(tileAsk, tileAskAt, tileAsks, tileStepAsk)
	t.scale(tileRowTo, packedRow)
	t.LEAQ(operand.Mem{Base: packedRow, Index: packedRow, Scale: 2}, packedRow3)
	t.scale(tileAskStep, tileStepAsk)
	t.LEAQ(operand.Mem{Base: tileStepAsk, Index: tileStepAsk, Scale: 2}, packedAsk3)
	t.MOVQ(t.field(tileDepth), packedN)
	t.MOVQ(packedN, packedRest)
	t.SHRQ(operand.U8(shiftOf(tileSteps)), packedN)
	t.ANDQ(operand.U8(tileSteps-1), packedRest)
	t.MOVQ(operand.I32(tileSoon), packedLeft)
	t.CMPQ(packedN, packedLeft)
	t.CMOVQCS(packedN, packedLeft)
	t.SUBQ(packedLeft, packedN)
	add := t.label("add")
	t.eachHeight(func(rows int) {
		for i := range tileVectors * rows {
			t.xor(t.regs[i], t.regs[i], t.regs[i])
		}
		t.steps(rows)
		if rows < t.most {
			t.JMP(operand.LabelRef(add))
		}
	})
	t.Label(add)
	t.add(tileVectors, false)
}

// steps is the loop over depth: twice, between which C is asked for, and then
// over the last steps.
func (t *tileWriter) steps(rows int) {
	top, touch, last, one, end := t.label("steps"), t.label("touch"), t.label("last"), t.label("one"), t.label("end")
	t.TESTQ(packedN, packedN)
	t.JZ(operand.LabelRef(touch))
	t.Label(top)
	for k := range tileSteps {
		t.step(rows, k)
		ask := operand.Mem{Base: tileAsks}
		switch k {
		case 1:
			ask.Index, ask.Scale = tileStepAsk, 1
		case 2:
			ask.Index, ask.Scale = tileStepAsk, 2
		case 3:
			ask.Index, ask.Scale = packedAsk3, 1
		}
		t.PREFETCHT1(ask)
	}
	t.LEAQ(operand.Mem{Base: tileAsks, Index: tileStepAsk, Scale: tileSteps}, tileAsks)
	t.advance(tileSteps*t.most*t.f.bytes, packedA)
	t.advance(tileSteps*tileVectors*t.bytes, packedB)
	t.DECQ(packedN)
	t.JNZ(operand.LabelRef(top))
	t.TESTQ(packedLeft, packedLeft)
	t.JZ(operand.LabelRef(last))
	t.Label(touch)
	t.touchAll(rows)
	t.MOVQ(packedLeft, packedN)
	t.XORQ(packedLeft, packedLeft)
	t.TESTQ(packedN, packedN)
	t.JNZ(operand.LabelRef(top))
	t.Label(last)
	t.TESTQ(packedRest, packedRest)
	t.JZ(operand.LabelRef(end))
	t.Label(one)
	t.step(rows, 0)
	t.advance(t.most*t.f.bytes, packedA)
	t.advance(tileVectors*t.bytes, packedB)
	t.DECQ(packedRest)
	t.JNZ(operand.LabelRef(one))
	t.Label(end)
}

// step adds the products of the k-th step from where A and B are read.
func (t *tileWriter) step(rows, k int) {
	b, a := t.regs[tileVectors*t.most:], t.regs[tileVectors*t.most+tileVectors:]
	for v := range tileVectors {
		t.move(t.f, operand.Mem{Base: packedB, Disp: (k*tileVectors + v) * t.bytes}, b[v])
	}
	for r := range rows {
		t.repeat(t.f, operand.Mem{Base: packedA, Disp: (k*t.most + r) * t.f.bytes}, a[0])
		for v := range tileVectors {
			t.fma(t.f, a[0], b[v], t.regs[r*tileVectors+v])
		}
	}
}

// touchAll asks for the lines of the rows of C.
func (t *tileWriter) touchAll(rows int) {
	for r := range rows {
		m := operand.Mem{Base: packedC}
		switch r % 4 {
		case 1:
			m.Index, m.Scale = packedRow, 1
		case 2:
			m.Index, m.Scale = packedRow, 2
		case 3:
			m.Index, m.Scale = packedRow3, 1
		}
		t.PREFETCHT0(m)
		m.Disp = tileVectors*t.bytes - 1
		t.PREFETCHT0(m)
		if r%4 == 3 && r+1 < rows {
			t.LEAQ(operand.Mem{Base: packedC, Index: packedRow, Scale: 4}, packedC)
		}
	}
}
