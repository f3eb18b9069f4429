package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Where the fields of kernels/cpu's tile are, in bytes.
const (
	tileA, tileB, tileFrom, tileTo = 0, 24, 48, 72
	tileRowA, tileStepA, tileStepB = 96, 104, 112
	tileRowFrom, tileRowTo         = 120, 128
	tileRows, tileCols, tileDepth  = 136, 144, 152
	tileAlpha                      = 160
	tileAsk, tileAskStep           = 168, 192
)

// tileVectors is how many vector registers wide a tile is at most, tileRowsMost
// how many rows it has at most: as many sums as there are registers besides two
// vectors of B and an element of A, by a round number.
const tileVectors = 2

func (g *gen) tileRowsMost() int {
	if g.wide() {
		return 12
	}
	return 6
}

// tileLoops makes the innermost loop of a product of matrices, after Van Zee and
// van de Geijn, "BLIS: a framework for rapidly instantiating BLAS functionality"
// (2015): a piece of C in registers, to which each step adds the outer product
// of a column of A and a row of B. There is a loop for each height, one and two
// vectors wide. One FMA needs less than one load, and the sums of a tile are
// more than the FMAs under way, so that these are the limit.
func tileLoops(g *gen) {
	for _, f := range reals {
		t := &tileWriter{gen: g, f: f, lanes: g.lanesOf(f), most: g.tileRowsMost(), done: g.label("done")}
		t.write()
	}
}

type tileWriter struct {
	*gen
	f           real
	lanes, most int
	regs        []reg.Register // the sums, row by row, then those of B, A and C
	mask        reg.Register   // of the last vector's columns
	done        string
}

// The registers while sums are taken, and those while they are added to C.
var (
	tileT                                  = reg.RDI
	tileN, tileHeight                      = reg.RAX, reg.R13
	tileAt                                 = []reg.Register{reg.RSI, reg.R8, reg.R9} // rows 0, 4 and 8 of A
	tileRow, tileRow3, tileStep            = reg.RDX, reg.R11, reg.RCX
	tileAtB, tileNextB                     = reg.RBX, reg.R12
	tileAtAsk, tileNextAsk                 = reg.R10, reg.R15
	tileOut, tileOutRow, tileIn, tileInRow = reg.R8, reg.R9, reg.RSI, reg.RCX
)

func (t *tileWriter) field(at int) operand.Mem { return operand.Mem{Base: tileT, Disp: at} }

// scale loads a field that counts elements, in bytes.
func (t *tileWriter) scale(at int, to reg.Register) {
	t.MOVQ(t.field(at), to)
	t.SHLQ(t.f.shift(), to)
}

func (t *tileWriter) write() {
	bits := fmt.Sprintf("t.depth is 1 at least, t.rows %d at most, t.cols %d at most", t.most, tileVectors*t.lanes)
	if !t.wide() {
		bits += fmt.Sprintf(" and a multiple of %d", t.lanes)
	}
	t.function("tile"+t.f.name, "(t *byte)", `is, t being a *tile,
	for r := range t.rows {
		for j := range t.cols {
			var sum `+t.f.of+`
			for k := range t.depth {
				sum = fma(t.a[r*t.rowA+k*t.stepA], t.b[k*t.stepB+j], sum)
			}
			t.to[r*t.rowTo+j] = fma(t.alpha, sum, t.from[r*t.rowFrom+j])
		}
	}
`+bits+".")
	t.Load(t.Param("t"), tileT)
	t.regs = t.vectors()
	t.MOVQ(t.field(tileRows), tileHeight)
	t.touch()
	t.MOVQ(t.field(tileA), tileAt[0])
	t.MOVQ(t.field(tileB), tileAtB)
	t.MOVQ(t.field(tileDepth), tileN)
	t.scale(tileRowA, tileRow)
	t.scale(tileStepA, tileStep)
	t.scale(tileStepB, tileNextB)
	t.LEAQ(operand.Mem{Base: tileRow, Index: tileRow, Scale: 2}, tileRow3)
	for i := 1; i < (t.most+3)/4; i++ {
		t.LEAQ(operand.Mem{Base: tileAt[i-1], Index: tileRow, Scale: 4}, tileAt[i])
	}
	for i := range tileVectors * t.most {
		t.xor(t.regs[i], t.regs[i], t.regs[i])
	}
	narrow, cols := t.label("narrow"), reg.R10
	t.MOVQ(t.field(tileCols), cols)
	if t.wide() {
		t.mask = reg.K1
	}
	t.CMPQ(cols, operand.U8(t.lanes))
	t.JLE(operand.LabelRef(narrow))
	if t.wide() {
		t.SUBQ(operand.U8(t.lanes), cols)
	}
	t.heights(tileVectors)
	t.Label(narrow)
	t.heights(1)
	t.Label(t.done)
	t.leave()
}

// touch asks for the lines of C, which are used last, first.
func (t *tileWriter) touch() {
	n, at, row, top := reg.R10, reg.R8, reg.R9, t.label("touch")
	t.MOVQ(tileHeight, n)
	t.MOVQ(t.field(tileTo), at)
	t.scale(tileRowTo, row)
	t.Label(top)
	t.PREFETCHT0(operand.Mem{Base: at})
	t.PREFETCHT0(operand.Mem{Base: at, Disp: tileVectors*t.bytes - 1})
	t.ADDQ(row, at)
	t.DECQ(n)
	t.JNZ(operand.LabelRef(top))
}

// heights is a loop for each height of a tile of so many vectors, and what
// follows them.
func (t *tileWriter) heights(vectors int) {
	if t.wide() {
		ones := reg.R15
		t.MOVQ(operand.I32(-1), ones)
		t.BZHIQ(reg.R10, ones, ones)
		t.KMOVW(ones.As32(), reg.K1)
	}
	t.MOVQ(t.field(tileAsk), tileAtAsk)
	t.scale(tileAskStep, tileNextAsk)
	add := t.label("add")
	labels := make([]string, t.most+1)
	for r := t.most; r > 1; r-- {
		labels[r] = t.label("height")
		t.CMPQ(tileHeight, operand.U8(r))
		t.JEQ(operand.LabelRef(labels[r]))
	}
	for r := 1; r <= t.most; r++ {
		if r > 1 {
			t.Label(labels[r])
		}
		t.sum(r, vectors)
		if r < t.most {
			t.JMP(operand.LabelRef(add))
		}
	}
	t.Label(add)
	t.add(vectors)
}

func (t *tileWriter) masked(v, vectors int) bool { return t.wide() && v == vectors-1 }

// sum is the loop over depth.
func (t *tileWriter) sum(rows, vectors int) {
	b, a := t.regs[tileVectors*t.most:], t.regs[tileVectors*t.most+tileVectors]
	top := t.label("step")
	t.Label(top)
	for v := range vectors {
		t.in(operand.Mem{Base: tileAtB, Disp: v * t.bytes}, b[v], t.masked(v, vectors))
	}
	t.ADDQ(tileNextB, tileAtB)
	t.PREFETCHT1(operand.Mem{Base: tileAtAsk})
	t.ADDQ(tileNextAsk, tileAtAsk)
	for r := range rows {
		t.repeat(t.f, t.element(r), a)
		for v := range vectors {
			t.fma(t.f, a, b[v], t.regs[r*tileVectors+v])
		}
		if r%4 == 3 || r == rows-1 {
			t.ADDQ(tileStep, tileAt[r/4])
		}
	}
	t.DECQ(tileN)
	t.JNZ(operand.LabelRef(top))
}

// element is that of A in row r.
func (t *tileWriter) element(r int) operand.Mem {
	m := operand.Mem{Base: tileAt[r/4]}
	switch r % 4 {
	case 1:
		m.Index, m.Scale = tileRow, 1
	case 2:
		m.Index, m.Scale = tileRow, 2
	case 3:
		m.Index, m.Scale = tileRow3, 1
	}
	return m
}

func (t *tileWriter) in(from operand.Mem, to reg.Register, masked bool) {
	switch {
	case !masked:
		t.move(t.f, from, to)
	case t.f.bytes == 4:
		t.VMOVUPS_Z(from, t.mask, to)
	default:
		t.VMOVUPD_Z(from, t.mask, to)
	}
}

func (t *tileWriter) out(from reg.Register, to operand.Mem, masked bool) {
	switch {
	case !masked:
		t.move(t.f, from, to)
	case t.f.bytes == 4:
		t.VMOVUPS(from, t.mask, to)
	default:
		t.VMOVUPD(from, t.mask, to)
	}
}

// add adds the sums to C, as many rows as there are: all of C is read before any
// is written, since rows may lie so far apart that a load of one looks to the
// processor like one of the row stored before.
func (t *tileWriter) add(vectors int) {
	alpha, left := t.regs[tileVectors*t.most], tileN
	t.MOVQ(t.field(tileTo), tileOut)
	t.scale(tileRowTo, tileOutRow)
	t.MOVQ(t.field(tileFrom), tileIn)
	t.scale(tileRowFrom, tileInRow)
	t.repeat(t.f, t.field(tileAlpha), alpha)
	t.MOVQ(tileHeight, left)
	store := t.label("store")
	t.eachRow(left, store, tileIn, tileInRow, func(r int) {
		for v := range vectors {
			t.from(operand.Mem{Base: tileIn, Disp: v * t.bytes}, alpha, t.regs[r*tileVectors+v], t.masked(v, vectors))
		}
	})
	t.Label(store)
	t.eachRow(tileHeight, t.done, tileOut, tileOutRow, func(r int) {
		for v := range vectors {
			t.out(t.regs[r*tileVectors+v], operand.Mem{Base: tileOut, Disp: v * t.bytes}, t.masked(v, vectors))
		}
	})
	if vectors > 1 {
		t.JMP(operand.LabelRef(t.done))
	}
}

// eachRow does something with each of so many rows, which are left, while a
// pointer goes from one to the next.
func (t *tileWriter) eachRow(left reg.Register, end string, at, step reg.Register, do func(r int)) {
	for r := range t.most {
		do(r)
		if r+1 < t.most {
			t.DECQ(left)
			t.JZ(operand.LabelRef(end))
			t.ADDQ(step, at)
		}
	}
}

// from makes sum alpha times sum plus what lies in memory.
func (t *tileWriter) from(m operand.Mem, alpha, sum reg.Register, masked bool) {
	switch {
	case t.f.bytes == 4 && masked:
		t.VFMADD213PS(m, alpha, t.mask, sum)
	case t.f.bytes == 4:
		t.VFMADD213PS(m, alpha, sum)
	case masked:
		t.VFMADD213PD(m, alpha, t.mask, sum)
	default:
		t.VFMADD213PD(m, alpha, sum)
	}
}
