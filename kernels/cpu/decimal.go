package cpu

import (
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// powers are 10^0 to 10^38.
var powers = func() (p [39]decimal) {
	p[0] = decimal{1, 0}
	for i := 1; i < len(p); i++ {
		hi, lo := bits.Mul64(p[i-1].lo, 10)
		p[i] = decimal{lo, p[i-1].hi*10 + hi}
	}
	return p
}()

func (d decimal) negative() bool { return int64(d.hi) < 0 }

func (d decimal) negate() decimal {
	lo, borrow := bits.Sub64(0, d.lo, 0)
	hi, _ := bits.Sub64(0, d.hi, borrow)
	return decimal{lo, hi}
}

// magnitude is |d| as an unsigned number.
func (d decimal) magnitude() decimal {
	if d.negative() {
		return d.negate()
	}
	return d
}

// withSign is a magnitude below 2^127 with a sign; it fails above.
func (d decimal) withSign(negative bool) (decimal, bool) {
	if d.negative() {
		return d, false
	}
	if negative {
		return d.negate(), true
	}
	return d, true
}

// below reports whether the magnitude m is less than 10^precision.
func below(m decimal, precision int32) bool {
	p := powers[precision]
	return m.hi < p.hi || m.hi == p.hi && m.lo < p.lo
}

// fits reports whether |d| is less than 10^precision.
func (d decimal) fits(precision int32) bool { return below(d.magnitude(), precision) }

// plus is d + e; it fails where 128 bits do not hold that.
func (d decimal) plus(e decimal) (decimal, bool) {
	lo, carry := bits.Add64(d.lo, e.lo, 0)
	hi, _ := bits.Add64(d.hi, e.hi, carry)
	return decimal{lo, hi}, int64((d.hi^hi)&(e.hi^hi)) >= 0
}

// times is d * e; it fails where that takes more than a 64-bit factor or 128
// bits of product.
func (d decimal) times(e decimal) (decimal, bool) {
	negative := d.negative() != e.negative()
	x, y := d.magnitude(), e.magnitude()
	if x.hi != 0 {
		x, y = y, x
	}
	if x.hi != 0 {
		return d, false
	}
	carry, lo := bits.Mul64(x.lo, y.lo)
	over, hi := bits.Mul64(x.lo, y.hi)
	hi, c := bits.Add64(hi, carry, 0)
	if over+c != 0 {
		return d, false
	}
	return decimal{lo, hi}.withSign(negative)
}

// over is d / e truncated and the rest; it fails where e is 0 or takes more
// than 64 bits.
func (d decimal) over(e decimal) (q, rest decimal, ok bool) {
	x, y := d.magnitude(), e.magnitude()
	if y.hi != 0 || y.lo == 0 {
		return d, d, false
	}
	q.hi = x.hi / y.lo
	q.lo, rest.lo = bits.Div64(x.hi%y.lo, x.lo, y.lo)
	if q, ok = q.withSign(d.negative() != e.negative()); !ok {
		return d, d, false
	}
	if d.negative() {
		rest = rest.negate()
	}
	return q, rest, true
}

// scaleUp is d * 10^digits, digits >= 0.
func (d decimal) scaleUp(digits int32) (decimal, bool) {
	if digits == 0 {
		return d, true
	}
	if digits >= int32(len(powers)) {
		return d, false
	}
	return d.times(powers[digits])
}

func (d decimal) big() *big.Int { return decimal128.New(int64(d.hi), d.lo).BigInt() }

func (d decimal) text(t arrow.DataType) string {
	return kernels.Decimal(t, decimal128.New(int64(d.hi), d.lo)).String()
}

var word = new(big.Int).SetUint64(1<<64 - 1)

// fromBig is v cut to 128 bits, and whether it is less than 10^precision.
func fromBig(v *big.Int, precision int32) (decimal, bool) {
	low := new(big.Int).And(v, word)
	high := new(big.Int).Rsh(v, 64)
	high.And(high, word)
	return decimal{low.Uint64(), high.Uint64()}, v.CmpAbs(powers[precision].big()) < 0
}

// decimalRule is how the operands are brought to one scale: each is multiplied
// by a power of ten first.
type decimalRule struct {
	op        kernels.ArithmeticOp
	up        [2]int32
	precision int32
}

func decimalRuleOf(op kernels.ArithmeticOp, a, b arrow.DataType, t arrow.DataType) decimalRule {
	sa, sb := a.(*arrow.Decimal128Type).Scale, b.(*arrow.Decimal128Type).Scale
	d := t.(*arrow.Decimal128Type)
	r := decimalRule{op: op, precision: d.Precision}
	switch op {
	case kernels.Divide:
		r.up[0] = d.Scale - sa + sb
	case kernels.Multiply:
	default:
		r.up = [2]int32{d.Scale - sa, d.Scale - sb}
	}
	return r
}

// quick is the result where 128 bits hold every step.
func (r decimalRule) quick(a, b decimal) (v decimal, ok bool) {
	x, okx := a.scaleUp(r.up[0])
	y, oky := b.scaleUp(r.up[1])
	if !okx || !oky {
		return v, false
	}
	switch r.op {
	case kernels.Add:
		return x.plus(y)
	case kernels.Subtract:
		if y == (decimal{0, 1 << 63}) {
			return v, false
		}
		return x.plus(y.negate())
	case kernels.Multiply:
		return x.times(y)
	case kernels.Divide:
		v, _, ok = x.over(y)
		return v, ok
	default:
		_, v, ok = x.over(y)
		return v, ok
	}
}

// exact is the result with unbounded integers; b is not 0 where that divides.
func (r decimalRule) exact(a, b decimal) (decimal, bool) {
	x, y := a.big(), b.big()
	x.Mul(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(r.up[0])), nil))
	y.Mul(y, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(r.up[1])), nil))
	switch r.op {
	case kernels.Add:
		x.Add(x, y)
	case kernels.Subtract:
		x.Sub(x, y)
	case kernels.Multiply:
		x.Mul(x, y)
	case kernels.Divide:
		x.Quo(x, y)
	default:
		x.Rem(x, y)
	}
	return fromBig(x, r.precision)
}

func decimalArithmetic(l *loops, o *out, r *rowErrors, op kernels.ArithmeticOp, a, b operand) func(int, span) error {
	ta, tb := a.val.Type(), b.val.Type()
	v := sides[decimal]{va: decimalOf(a.val), vb: decimalOf(b.val)}
	if a.col != nil {
		ta, v.a = a.col.Type(), memory.Values[decimal](a.col)
	}
	if b.col != nil {
		tb, v.b = b.col.Type(), memory.Values[decimal](b.col)
	}
	rule := decimalRuleOf(op, ta, tb, o.parts.Type)
	dst, valid := view[decimal](o, 1), o.valid()
	divides := op == kernels.Divide || op == kernels.Modulo
	rows := func(from, to int64) error {
		for i := from; i < to; i++ {
			if !rowIn(valid, i) {
				continue
			}
			x, y := v.va, v.vb
			if v.a != nil {
				x = v.a[i]
			}
			if v.b != nil {
				y = v.b[i]
			}
			if divides && y == (decimal{}) {
				return r.at(i, arithmeticError(op, x.text(ta), "0", true, o.parts.Type))
			}
			z, ok := rule.quick(x, y)
			if !ok {
				z, ok = rule.exact(x, y)
			} else {
				ok = z.fits(rule.precision)
			}
			if !ok {
				return r.at(i, arithmeticError(op, x.text(ta), y.text(tb), false, o.parts.Type))
			}
			dst[i] = z
		}
		return nil
	}
	return func(_ int, s span) error {
		narrow := l.narrowArithmetic(rule, dst, a, b)
		if narrow == nil {
			return rows(s.from, s.to)
		}
		return eachBlock(s, func(from, to int64) error {
			if narrow.block(from, to) {
				return nil
			}
			return rows(from, to)
		})
	}
}
