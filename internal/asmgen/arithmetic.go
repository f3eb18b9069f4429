package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// form is what the operands of an operation are.
type form struct {
	name, params, a, b string
}

var (
	columns = form{"Columns", "a, b []T", "a[i]", "b[i]"}
	right   = form{"Right", "a []T, b T", "a[i]", "b"}
	left    = form{"Left", "a T, b []T", "a", "b[i]"}
)

// operation computes dst from a and b, of which only b may be in memory.
type operation struct {
	name, sign string
	commutes   bool
	apply      func(g *gen, e element, b operand.Op, a, dst reg.VecVirtual)
}

// words are integers of any sign: they wrap alike.
var words = elements[4:8]

var reals2 = elements[8:10]

// arithmetic makes the operations on two numbers.
func arithmetic(g *gen) {
	integers := []operation{{"add", "+", true, addLanes}, {"subtract", "-", false, subtractLanes}, {"multiply", "*", true, multiplyLanes}}
	floats := append(integers[:3:3], operation{"divide", "/", false, divideLanes})
	for _, e := range words {
		arithmeticLoops(g, e, integers)
	}
	for _, e := range reals2 {
		arithmeticLoops(g, e, floats)
	}
	for _, e := range elements[:8] {
		for _, op := range integers[:2] {
			checkedLoop(g, e, op)
		}
	}
}

func arithmeticLoops(g *gen, e element, ops []operation) {
	for _, op := range ops {
		arithmeticLoop(g, e, op, columns)
		arithmeticLoop(g, e, op, right)
		if !op.commutes {
			arithmeticLoop(g, e, op, left)
		}
	}
}

// arithmeticStep is the bytes of values that an operation takes at a time.
const arithmeticStep = 256

func arithmeticLoop(g *gen, e element, op operation, f form) {
	g.function(op.name+f.name+e.suffix, "(dst []"+e.name+", "+typed(f.params, e)+")", `is
	for i := range dst {
		dst[i] = `+f.a+` `+op.sign+` `+f.b+`
	}
len(dst) is a multiple of 256 bytes; slices are no shorter.`)
	dst, n := g.base("dst"), g.length("dst")
	var a, b reg.Register
	var value reg.VecVirtual
	moving := []reg.Register{dst}
	if f == left {
		value = g.broadcast(e, g.Param("a"))
	} else {
		a = g.base("a")
		moving = append(moving, a)
	}
	if f == right {
		value = g.broadcast(e, g.Param("b"))
	} else {
		b = g.base("b")
		moving = append(moving, b)
	}
	g.SHRQ(operand.U8(stepShift(e)), n)
	g.count(n, func() {
		for at0 := 0; at0 < arithmeticStep; at0 += g.bytes {
			v, r := value, g.vector()
			if f != left {
				v = g.loaded(at(a, at0))
			}
			if f == right {
				op.apply(g, e, value, v, r)
			} else {
				op.apply(g, e, at(b, at0), v, r)
			}
			g.store(r, at(dst, at0))
		}
		g.advance(arithmeticStep, moving...)
	})
	g.leave()
}

// typed puts a type's name for T.
func typed(params string, e element) string {
	s := ""
	for _, c := range params {
		if c == 'T' {
			s += e.name
			continue
		}
		s += string(c)
	}
	return s
}

// stepShift makes a number of values one of steps.
func stepShift(e element) uint8 { return map[int]uint8{1: 8, 2: 7, 4: 6, 8: 5}[e.size] }

func addLanes(g *gen, e element, b operand.Op, a, dst reg.VecVirtual) {
	switch {
	case e.name == "float32":
		g.VADDPS(b, a, dst)
	case e.name == "float64":
		g.VADDPD(b, a, dst)
	default:
		map[int]func(...operand.Op){1: g.VPADDB, 2: g.VPADDW, 4: g.VPADDD, 8: g.VPADDQ}[e.size](b, a, dst)
	}
}

func subtractLanes(g *gen, e element, b operand.Op, a, dst reg.VecVirtual) {
	switch {
	case e.name == "float32":
		g.VSUBPS(b, a, dst)
	case e.name == "float64":
		g.VSUBPD(b, a, dst)
	default:
		map[int]func(...operand.Op){1: g.VPSUBB, 2: g.VPSUBW, 4: g.VPSUBD, 8: g.VPSUBQ}[e.size](b, a, dst)
	}
}

func divideLanes(g *gen, e element, b operand.Op, a, dst reg.VecVirtual) {
	if e.size == 4 {
		g.VDIVPS(b, a, dst)
		return
	}
	g.VDIVPD(b, a, dst)
}

// multiplyLanes has bytes from products of pairs of them, and on the AVX2 tier
// 64 bits from products of 32.
func multiplyLanes(g *gen, e element, b operand.Op, a, dst reg.VecVirtual) {
	switch {
	case e.name == "float32":
		g.VMULPS(b, a, dst)
	case e.name == "float64":
		g.VMULPD(b, a, dst)
	case e.size == 2:
		g.VPMULLW(b, a, dst)
	case e.size == 4:
		g.VPMULLD(b, a, dst)
	case e.size == 8 && g.wide():
		g.VPMULLQ(b, a, dst)
	case e.size == 8:
		y, cross := g.inRegister(b), g.vector()
		g.VPSHUFD(operand.U8(0xb1), y, cross)
		g.VPMULLD(cross, a, cross)
		high := g.vector()
		g.VPSRLQ(operand.U8(32), cross, high)
		g.VPADDD(high, cross, cross)
		g.VPSLLQ(operand.U8(32), cross, cross)
		g.VPMULUDQ(y, a, dst)
		g.VPADDQ(cross, dst, dst)
	default:
		y, even, odd, high := g.inRegister(b), g.vector(), g.vector(), g.vector()
		g.VPMULLW(y, a, even)
		g.VPSLLW(operand.U8(8), even, even)
		g.VPSRLW(operand.U8(8), even, even)
		g.VPSRLW(operand.U8(8), y, high)
		g.VPSRLW(operand.U8(8), a, odd)
		g.VPMULLW(high, odd, odd)
		g.VPSLLW(operand.U8(8), odd, odd)
		g.or(even, odd, dst)
	}
}

// inRegister is an operand in a register.
func (g *gen) inRegister(v operand.Op) reg.VecVirtual {
	if r, ok := v.(reg.VecVirtual); ok {
		return r
	}
	return g.loaded(v.(operand.Mem))
}

// checkedLoop gathers the overflows in the upper bits of lanes: of a sum or
// difference they are a function of the bits of both operands and of the result.
func checkedLoop(g *gen, e element, op operation) {
	name, add := op.name+"Checked", op.name == "add"
	g.function(name+e.suffix, "(dst, a, b []"+e.name+") bool", `is
	bad := false
	for i := range dst {
		dst[i] = a[i] `+op.sign+` b[i]
		bad = bad || a[i] `+op.sign+` b[i] does not fit
	}
len(dst) is a multiple of 256 bytes; a and b are no shorter.`)
	dst, n := g.base("dst"), g.length("dst")
	a, b := g.base("a"), g.base("b")
	over := g.zero()
	g.SHRQ(operand.U8(stepShift(e)), n)
	g.count(n, func() {
		for at0 := 0; at0 < arithmeticStep; at0 += g.bytes {
			x, y, r := g.loaded(at(a, at0)), g.loaded(at(b, at0)), g.vector()
			op.apply(g, e, y, x, r)
			g.store(r, at(dst, at0))
			overflow(g, e.kind == signed, add, x, y, r)
			g.or(x, over, over)
		}
		g.advance(arithmeticStep, dst, a, b)
	})
	g.Store(g.anySign(e, over), g.ReturnIndex(0))
	g.leave()
}

// anySign is a new register with 1 where the upper bit of some lane is set, else
// 0. It changes v.
func (g *gen) anySign(e element, v reg.VecVirtual) reg.Register {
	signs, y := g.signBits(e), v.AsY().(reg.VecVirtual)
	if g.wide() {
		half := g.YMM()
		g.VEXTRACTI64X4(operand.U8(1), v, half)
		g.VPOR(half, y, y)
	}
	any := g.GP8()
	g.VPTEST(signs.AsY(), y)
	g.SETNE(any)
	return any
}

// overflow leaves in the upper bits of x's lanes whether r = x ± y did not fit.
func overflow(g *gen, signed, add bool, x, y, r reg.VecVirtual) {
	if g.wide() {
		bits := uint8(0) // by the bits of x, y and r
		for i := range uint8(8) {
			x, y, r := i>>2&1, i>>1&1, i&1
			var bad uint8
			switch {
			case signed && add:
				bad = (x ^ r) & (y ^ r)
			case signed:
				bad = (x ^ y) & (x ^ r)
			case add:
				bad = x&y | (x|y)&^r
			default:
				bad = y&^x | r&^(x^y)
			}
			bits |= bad << i
		}
		g.VPTERNLOGQ(operand.U8(bits), r, y, x)
		return
	}
	t := g.vector()
	switch {
	case signed && add:
		g.VPXOR(r, y, t)
		g.VPXOR(r, x, x)
		g.VPAND(t, x, x)
	case signed:
		g.VPXOR(y, x, t)
		g.VPXOR(r, x, x)
		g.VPAND(t, x, x)
	case add:
		g.VPOR(y, x, t)
		g.VPANDN(t, r, t) // t &^ r
		g.VPAND(y, x, x)
		g.VPOR(t, x, x)
	default:
		g.VPXOR(y, x, t)
		g.VPANDN(r, t, t)
		g.VPANDN(y, x, x)
		g.VPOR(t, x, x)
	}
}
