package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Where the fields of kernels/cpu's tile are, in bytes.
const (
	tileA, tileB, tileFrom, tileTo                 = 0, 24, 48, 72
	tileRowA, tileStepA, tileStepB                 = 96, 104, 112
	tileRowFrom, tileRowTo                         = 120, 128
	tileRows, tileCols, tileDepth                  = 136, 144, 152
	tileAlpha                                      = 160
	tileAsk, tileAskStep                           = 168, 192
	tileKeep                                       = 200
	tileTiles                                      = 224
	tileNextA, tileNextB, tileNextFrom, tileNextTo = 232, 240, 248, 256
	tileAtA, tileAtB, tileAtFrom, tileAtTo         = 264, 272, 280, 288
	tileAskAt, tileKeepAt                          = 296, 304
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
	tileRowsA                              = []reg.Register{reg.RSI, reg.R8, reg.R9} // rows 0, 4 and 8 of A
	tileRow, tileRow3, tileStep            = reg.RDX, reg.R11, reg.RCX
	tilePanelB, tileStepsB                 = reg.RBX, reg.R12
	tileAsks, tileStepAsk                  = reg.R10, reg.R15
	tileKept                               = reg.R14
	tileOut, tileOutRow, tileIn, tileInRow = reg.R8, reg.R9, reg.RSI, reg.RCX
)

func (t *tileWriter) field(at int) operand.Mem { return operand.Mem{Base: tileT, Disp: at} }

// scale loads a field that counts elements, in bytes.
func (t *tileWriter) scale(at int, to reg.Register) {
	t.MOVQ(t.field(at), to)
	t.SHLQ(t.f.shift(), to)
}

// here loads where a slice is read or written in the tile of the run that it is
// the turn of; index is free.
func (t *tileWriter) here(slice, at int, to, index reg.Register) {
	t.MOVQ(t.field(slice), to)
	t.MOVQ(t.field(at), index)
	t.LEAQ(operand.Mem{Base: to, Index: index, Scale: uint8(t.f.bytes)}, to)
}

func (t *tileWriter) write() {
	bits := fmt.Sprintf("t.tiles and t.depth are 1 at least, t.rows %d at most, t.cols %d at most", t.most, tileVectors*t.lanes)
	if !t.wide() {
		bits += fmt.Sprintf(" and a multiple of %d", t.lanes)
	}
	bits += fmt.Sprintf("; where t.keep is not nil t.cols is %d", tileVectors*t.lanes)
	t.function("tile"+t.f.name, "(t *byte)", `is, t being a *tile,
	a, b, from, to, keep := t.a, t.b, t.from, t.to, t.keep
	for {
		for r := range t.rows {
			for j := range t.cols {
				var sum `+t.f.of+`
				for k := range t.depth {
					sum = fma(a[r*t.rowA+k*t.stepA], b[k*t.stepB+j], sum)
					if keep != nil {
						keep[k*t.cols+j] = b[k*t.stepB+j]
					}
				}
				to[r*t.rowTo+j] = fma(t.alpha, sum, from[r*t.rowFrom+j])
			}
		}
		if t.tiles--; t.tiles == 0 {
			break
		}
		a, b, from, to = a[t.nextA:], b[t.nextB:], from[t.nextFrom:], to[t.nextTo:]
		if keep != nil {
			keep = keep[t.depth*t.cols:]
		}
	}
`+bits+".")
	t.Load(t.Param("t"), tileT)
	t.regs = t.vectors()
	if t.wide() {
		t.mask = reg.K1
	}
	zero := reg.RAX
	t.XORQ(zero, zero)
	for _, at := range []int{tileAtA, tileAtB, tileAtFrom, tileAtTo, tileAskAt, tileKeepAt} {
		t.MOVQ(zero, t.field(at))
	}
	again, narrow, spread, cols := t.label("tile"), t.label("narrow"), t.label("spread"), reg.R10
	t.Label(again)
	t.MOVQ(t.field(tileRows), tileHeight)
	t.unlessPacked(spread)
	t.packed()
	t.Label(spread)
	t.anywhere()
	t.MOVQ(t.field(tileCols), cols)
	t.CMPQ(cols, operand.U8(t.lanes))
	t.JLE(operand.LabelRef(narrow))
	if t.wide() {
		ragged := t.label("ragged")
		t.SUBQ(operand.U8(t.lanes), cols)
		t.CMPQ(cols, operand.U8(t.lanes))
		t.JNE(operand.LabelRef(ragged))
		t.heights(tileVectors, false)
		t.Label(ragged)
	}
	t.heights(tileVectors, t.wide())
	t.Label(narrow)
	t.heights(1, t.wide())
	t.Label(t.done)
	t.next(again)
	t.leave()
}

// next goes on to the next tile of a run.
func (t *tileWriter) next(again string) {
	end, by := t.label("end"), reg.RAX
	t.DECQ(t.field(tileTiles))
	t.JZ(operand.LabelRef(end))
	for _, f := range [][2]int{{tileNextA, tileAtA}, {tileNextB, tileAtB}, {tileNextFrom, tileAtFrom}, {tileNextTo, tileAtTo}} {
		t.MOVQ(t.field(f[0]), by)
		t.ADDQ(by, t.field(f[1]))
	}
	t.MOVQ(t.field(tileAskStep), by)
	t.IMULQ(t.field(tileDepth), by)
	t.ADDQ(by, t.field(tileAskAt))
	t.MOVQ(t.field(tileDepth), by)
	t.IMULQ(t.field(tileCols), by)
	t.ADDQ(by, t.field(tileKeepAt))
	t.JMP(operand.LabelRef(again))
	t.Label(end)
}

// anywhere loads what the loops over A and B that lie anywhere need.
func (t *tileWriter) anywhere() {
	t.touch()
	t.here(tileA, tileAtA, tileRowsA[0], tileN)
	t.here(tileB, tileAtB, tilePanelB, tileN)
	t.MOVQ(t.field(tileDepth), tileN)
	t.scale(tileRowA, tileRow)
	t.scale(tileStepA, tileStep)
	t.scale(tileStepB, tileStepsB)
	t.LEAQ(operand.Mem{Base: tileRow, Index: tileRow, Scale: 2}, tileRow3)
	for i := 1; i < (t.most+3)/4; i++ {
		t.LEAQ(operand.Mem{Base: tileRowsA[i-1], Index: tileRow, Scale: 4}, tileRowsA[i])
	}
	for i := range tileVectors * t.most {
		t.xor(t.regs[i], t.regs[i], t.regs[i])
	}
}

// touch asks for the lines of C, which are used last, first.
func (t *tileWriter) touch() {
	n, at, row, top := reg.R10, reg.R8, reg.R9, t.label("touch")
	t.MOVQ(tileHeight, n)
	t.here(tileTo, tileAtTo, at, row)
	t.scale(tileRowTo, row)
	t.Label(top)
	t.PREFETCHT0(operand.Mem{Base: at})
	t.PREFETCHT0(operand.Mem{Base: at, Disp: tileVectors*t.bytes - 1})
	t.ADDQ(row, at)
	t.DECQ(n)
	t.JNZ(operand.LabelRef(top))
}

// eachHeight goes where the loop of the tile's height is, by which do makes one.
func (t *tileWriter) eachHeight(do func(rows int)) {
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
		do(r)
	}
}

// heights is a loop for each height of a tile of so many vectors, the last of
// them masked or not, and what follows them.
func (t *tileWriter) heights(vectors int, masked bool) {
	if masked {
		ones := reg.R15
		t.MOVQ(operand.I32(-1), ones)
		t.BZHIQ(reg.R10, ones, ones)
		t.KMOVW(ones.As32(), reg.K1)
	}
	t.here(tileAsk, tileAskAt, tileAsks, tileStepAsk)
	t.scale(tileAskStep, tileStepAsk)
	add := t.label("add")
	if vectors == tileVectors && !(masked && t.wide()) {
		plain := t.label("plain")
		t.CMPQ(t.field(tileKeep), operand.U8(0))
		t.JEQ(operand.LabelRef(plain))
		t.here(tileKeep, tileKeepAt, tileKept, tileN)
		t.MOVQ(t.field(tileDepth), tileN)
		t.eachHeight(func(r int) {
			t.sum(r, vectors, false, true)
			t.JMP(operand.LabelRef(add))
		})
		t.Label(plain)
	}
	t.eachHeight(func(r int) {
		t.sum(r, vectors, masked, false)
		if r < t.most {
			t.JMP(operand.LabelRef(add))
		}
	})
	t.Label(add)
	t.add(vectors, masked)
}

// sum is the loop over depth; keeps says that what is read of B is written as well. Then the next
// rows of B are what is asked for, both ends of each.
func (t *tileWriter) sum(rows, vectors int, masked, keeps bool) {
	b, a := t.regs[tileVectors*t.most:], t.regs[tileVectors*t.most+tileVectors]
	top := t.label("step")
	t.Label(top)
	for v := range vectors {
		t.in(operand.Mem{Base: tilePanelB, Disp: v * t.bytes}, b[v], masked && v == vectors-1)
	}
	t.ADDQ(tileStepsB, tilePanelB)
	t.PREFETCHT1(operand.Mem{Base: tileAsks})
	if keeps {
		t.PREFETCHT1(operand.Mem{Base: tileAsks, Disp: vectors*t.bytes - 1})
		for v := range vectors {
			t.move(t.f, b[v], operand.Mem{Base: tileKept, Disp: v * t.bytes})
		}
		t.advance(vectors*t.bytes, tileKept)
	}
	t.ADDQ(tileStepAsk, tileAsks)
	for r := range rows {
		t.repeat(t.f, t.element(r), a)
		for v := range vectors {
			t.fma(t.f, a, b[v], t.regs[r*tileVectors+v])
		}
		if r%4 == 3 || r == rows-1 {
			t.ADDQ(tileStep, tileRowsA[r/4])
		}
	}
	t.DECQ(tileN)
	t.JNZ(operand.LabelRef(top))
}

// element is that of A in row r.
func (t *tileWriter) element(r int) operand.Mem {
	m := operand.Mem{Base: tileRowsA[r/4]}
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
func (t *tileWriter) add(vectors int, masked bool) {
	alpha, left := t.regs[tileVectors*t.most], tileN
	t.here(tileTo, tileAtTo, tileOut, tileOutRow)
	t.scale(tileRowTo, tileOutRow)
	t.here(tileFrom, tileAtFrom, tileIn, tileInRow)
	t.scale(tileRowFrom, tileInRow)
	t.repeat(t.f, t.field(tileAlpha), alpha)
	t.MOVQ(tileHeight, left)
	store := t.label("store")
	t.eachRow(left, store, tileIn, tileInRow, func(r int) {
		for v := range vectors {
			t.from(operand.Mem{Base: tileIn, Disp: v * t.bytes}, alpha, t.regs[r*tileVectors+v], masked && v == vectors-1)
		}
	})
	t.Label(store)
	t.eachRow(tileHeight, t.done, tileOut, tileOutRow, func(r int) {
		for v := range vectors {
			t.out(t.regs[r*tileVectors+v], operand.Mem{Base: tileOut, Disp: v * t.bytes}, masked && v == vectors-1)
		}
	})
	if vectors > 1 { // else it is the last of the function
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
