package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The loop over operands that are packed for tiles of the most rows and all
// columns, so that each step's distance is known when it is assembled: what is
// not a sum of products is done once for tileSteps steps.
const tileSteps = 4

// The registers of this loop.
var (
	packedA, packedB    = reg.RSI, reg.RBX
	packedN, packedRest = reg.RAX, reg.R9
	packedC, packedRow  = reg.R8, reg.RDX
	packedTop           = reg.R11 // the first row of C
	packedRows          = reg.R12 // of C from packedC on
	packedCompare       = reg.RAX
)

// unlessPacked goes elsewhere with tiles that this loop is not for.
func (t *tileWriter) unlessPacked(elsewhere string) {
	for _, f := range [][2]int{{tileCols, tileVectors * t.lanes}, {tileRowA, 1}, {tileStepA, t.most}, {tileStepB, tileVectors * t.lanes}, {tileKeep, 0}} {
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
	t.MOVQ(packedC, packedTop)
	t.MOVQ(tileHeight, packedRows)
	t.scale(tileAskStep, tileStepAsk)
	t.MOVQ(t.field(tileDepth), packedN)
	t.MOVQ(packedN, packedRest)
	t.SHRQ(operand.U8(shiftOf(tileSteps)), packedN)
	t.ANDQ(operand.U8(tileSteps-1), packedRest)
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

// steps is the loop over depth, and then over the last steps. While it sums, the
// lines of C are asked for, one row after the other and again from the first: at
// once they would be more than the processor waits for at a time, and rows a
// power of two apart share so few places of the first-level cache that what is
// asked for early is in the second when it is needed.
func (t *tileWriter) steps(rows int) {
	top, last, one, end := t.label("steps"), t.label("last"), t.label("one"), t.label("end")
	t.TESTQ(packedN, packedN)
	t.JZ(operand.LabelRef(last))
	t.Label(top)
	for k := range tileSteps {
		t.step(rows, k)
		switch k {
		case 0:
			t.PREFETCHT1(operand.Mem{Base: tileAsks})
		case 1:
			t.PREFETCHT0(operand.Mem{Base: packedC})
		case 2:
			t.PREFETCHT1(operand.Mem{Base: tileAsks, Index: tileStepAsk, Scale: 2})
		case 3:
			t.PREFETCHT0(operand.Mem{Base: packedC, Disp: tileVectors*t.bytes - 1})
		}
	}
	t.ADDQ(packedRow, packedC)
	t.DECQ(packedRows)
	t.CMOVQEQ(packedTop, packedC)
	t.CMOVQEQ(tileHeight, packedRows)
	t.LEAQ(operand.Mem{Base: tileAsks, Index: tileStepAsk, Scale: tileSteps}, tileAsks)
	t.advance(tileSteps*t.most*t.f.bytes, packedA)
	t.advance(tileSteps*tileVectors*t.bytes, packedB)
	t.DECQ(packedN)
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
