package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// element is a type of values.
type element struct {
	name   string // Go's
	suffix string // in the names of functions
	size   int
	kind   kind
}

type kind int

const (
	signed kind = iota
	unsigned
	float
)

// elements are all types that there are loops for.
var elements = []element{
	{"int8", "Int8", 1, signed}, {"int16", "Int16", 2, signed}, {"int32", "Int32", 4, signed}, {"int64", "Int64", 8, signed},
	{"uint8", "Uint8", 1, unsigned}, {"uint16", "Uint16", 2, unsigned}, {"uint32", "Uint32", 4, unsigned}, {"uint64", "Uint64", 8, unsigned},
	{"float32", "Float32", 4, float}, {"float64", "Float64", 8, float},
}

// lanes is how many values of a type a vector register of the tier holds.
func (g *gen) lanes(e element) int { return g.bytes / e.size }

// everyQuad is a new vector register of which each 64-bit lane is v.
func (g *gen) everyQuad(v uint64) reg.VecVirtual {
	t, word, x := g.vector(), g.GP64(), g.XMM()
	g.MOVQ(operand.U64(v), word)
	g.VMOVQ(word, x)
	g.VPBROADCASTQ(x, t)
	return t
}

// dataVector is a new vector register that holds 32 bytes of constants.
func (g *gen) dataVector(name string, quads ...uint64) reg.VecVirtual {
	m := g.StaticGlobal(name)
	g.DataAttributes(readOnly)
	for i, q := range quads {
		g.AddDatum(8*i, operand.U64(q))
	}
	v := g.YMM()
	g.VMOVDQU(m, v)
	return v
}

// bitSelectors are, for the AVX2 tier, what turns bits into lanes of ones: see
// laneMask.
type bitSelectors struct{ low, high, shuffle reg.VecVirtual }

// bitsFor loads the selectors for values of a size.
func (g *gen) bitsFor(size int) bitSelectors {
	if g.wide() {
		return bitSelectors{}
	}
	name := g.label("bits")
	switch size {
	case 8:
		return bitSelectors{low: g.dataVector(name+"low", 1, 2, 4, 8), high: g.dataVector(name+"high", 16, 32, 64, 128)}
	case 4:
		return bitSelectors{low: g.dataVector(name, 1|2<<32, 4|8<<32, 16|32<<32, 64|128<<32)}
	case 2:
		return bitSelectors{low: g.dataVector(name, 0x0008000400020001, 0x0080004000200010, 0x0800040002000100, 0x8000400020001000)}
	default:
		return bitSelectors{low: g.dataVector(name, 0x8040201008040201, 0x8040201008040201, 0x8040201008040201, 0x8040201008040201),
			shuffle: g.dataVector(name+"shuffle", 0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303)}
	}
}

// laneMask is a new register with ones in the lanes whose bit is set: bits
// [first, first+lanes) of the bitmap at p. first is a multiple of the lanes.
func (g *gen) laneMask(b bitSelectors, size int, p reg.Register, first int) reg.VecVirtual {
	m := g.YMM()
	where := at(p, first/8)
	switch size {
	case 8:
		bits := b.low
		if first&7 != 0 {
			bits = b.high
		}
		g.VPBROADCASTB(where, m)
		g.VPAND(bits, m, m)
		g.VPCMPEQQ(bits, m, m)
	case 4:
		g.VPBROADCASTB(where, m)
		g.VPAND(b.low, m, m)
		g.VPCMPEQD(b.low, m, m)
	case 2:
		g.VPBROADCASTW(where, m)
		g.VPAND(b.low, m, m)
		g.VPCMPEQW(b.low, m, m)
	default:
		g.VPBROADCASTD(where, m)
		g.VPSHUFB(b.shuffle, m, m)
		g.VPAND(b.low, m, m)
		g.VPCMPEQB(b.low, m, m)
	}
	return m
}

// laneBits is a new mask register with the bits [first, first+lanes) of the
// bitmap at p, for values of a size, on the AVX-512 tier.
func (g *gen) laneBits(size int, p reg.Register, first int) reg.Register {
	k := g.K()
	where := at(p, first/8)
	switch size {
	case 8:
		g.KMOVB(where, k)
	case 4:
		g.KMOVW(where, k)
	case 2:
		g.KMOVD(where, k)
	default:
		g.KMOVQ(where, k)
	}
	return k
}
