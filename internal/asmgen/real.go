package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// real is an element type of the loops over matrices.
type real struct {
	name  string // at the end of functions' names
	of    string // in signatures
	bytes int
}

var reals = []real{{"Float32", "float32", 4}, {"Float64", "float64", 8}}

// lanesOf are the elements of a vector register.
func (g *gen) lanesOf(f real) int { return g.bytes / f.bytes }

// shift is by how much an index is shifted to be an offset.
func (f real) shift() operand.U8 {
	if f.bytes == 4 {
		return 2
	}
	return 3
}

// scaled is a new register with a number of elements in bytes.
func (g *gen) scaled(f real, elements reg.Register) reg.Register {
	g.SHLQ(f.shift(), elements)
	return elements
}

// The instructions of the two types.

func (g *gen) repeat(f real, from operand.Op, to reg.Register) {
	if f.bytes == 4 {
		g.VBROADCASTSS(from, to)
		return
	}
	g.VBROADCASTSD(from, to)
}

// fma is to += a * b.
func (g *gen) fma(f real, a, b operand.Op, to reg.Register) {
	if f.bytes == 4 {
		g.VFMADD231PS(a, b, to)
		return
	}
	g.VFMADD231PD(a, b, to)
}

func (g *gen) move(f real, from, to operand.Op) {
	if f.bytes == 4 {
		g.VMOVUPS(from, to)
		return
	}
	g.VMOVUPD(from, to)
}

// vectors are the vector registers of the tier, by number.
func (g *gen) vectors() []reg.Register {
	if g.wide() {
		return []reg.Register{
			reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
			reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
		}
	}
	return []reg.Register{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
	}
}
