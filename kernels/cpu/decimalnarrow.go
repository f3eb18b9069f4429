package cpu

import (
	"math/bits"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// decimalBlock is the decimals that a kernel makes integers of 64 bits at a time:
// 8 KiB of them, so that two operands and a result stay in the first-level cache.
// A block in which a bound does not prove every step is computed in 128 bits.
const decimalBlock = 1 << 10

// narrowRoom is a block of integers.
type narrowRoom [decimalBlock]int64

// narrowBits are enough for a value to fit 64 bits: one of b bits is at least
// -(1<<b), and less than 1<<b.
const narrowBits = 63

// eachBlock calls f for the blocks of a span, up to the first error.
func eachBlock(s span, f func(from, to int64) error) error {
	for from := s.from; from < s.to; from += decimalBlock {
		if err := f(from, min(from+decimalBlock, s.to)); err != nil {
			return err
		}
	}
	return nil
}

// narrow is the values as integers in room, and the bits of the longest; it fails
// where one of them does not fit.
func (l *loops) narrow(room *narrowRoom, values [][2]uint64) (v []int64, longest int, ok bool) {
	v = room[:len(values)]
	magnitude, wide := l.decimal.narrow(v, values)
	return v, bits.Len64(magnitude), wide == 0
}

// narrow is the decimal as an integer; it fails where that does not fit.
func (d decimal) narrow() (v int64, ok bool) { return int64(d.lo), d.hi == uint64(int64(d.lo)>>63) }

// lengthOf is the bits of an integer.
func lengthOf(v int64) int { return bits.Len64(uint64(v ^ v>>63)) }

// powerBits is 10^digits, and its bits; it fails where that does not fit 64.
func powerBits(digits int32) (power int64, n int, ok bool) {
	if digits < 0 || digits > 18 {
		return 0, 0, false
	}
	power = int64(powers[digits].lo)
	return power, lengthOf(power), true
}

// digitsHold reports whether all integers, none of which has more bits than
// longest, are less than 10^precision.
func (l *loops) digitsHold(v []int64, longest int, precision int32) bool {
	if precision > 18 { // 10^19 is more than 2^63
		return true
	}
	limit := powers[precision].lo
	if longest < bits.Len64(limit) || len(v) == 0 { // 2^longest is less
		return true
	}
	low, high := l.reduce.i64.extremes(v, v[0], v[0])
	return magnitude(uint64(low), uint64(high)) < limit
}

// narrowSide is an operand of arithmetic that is made integers of one scale.
type narrowSide struct {
	values  [][2]uint64 // nil for a scalar
	value   int64
	bits    int // of the scalar
	by      int64
	byBits  int // 0 where nothing is multiplied
	scratch narrowRoom
}

// narrowArithmetic adds, subtracts and multiplies blocks of decimals as integers.
type narrowArithmetic struct {
	l    *loops
	rule decimalRule
	dst  [][2]uint64
	side [2]narrowSide
}

// narrowArithmetic is nil where no block can be computed so. Each worker has one.
func (l *loops) narrowArithmetic(rule decimalRule, dst []decimal, a, b operand) *narrowArithmetic {
	if rule.op > kernels.Multiply {
		return nil
	}
	n := &narrowArithmetic{l: l, rule: rule, dst: sameSize[[2]uint64](dst)}
	for i, from := range []operand{a, b} {
		side := &n.side[i]
		power, powerLen, ok := powerBits(rule.up[i])
		if !ok {
			return nil
		}
		if side.by = power; power != 1 {
			side.byBits = powerLen
		}
		if from.col != nil {
			side.values = memory.Values[[2]uint64](from.col)
			continue
		}
		scaled, ok := decimalOf(from.val).scaleUp(rule.up[i])
		if !ok {
			return nil
		}
		if side.value, ok = scaled.narrow(); !ok || scaled.hi != uint64(side.value>>63) {
			return nil
		}
		side.bits = lengthOf(side.value)
	}
	return n
}

// block computes rows [from, to); it fails, having done nothing that counts, where
// it takes 128 bits to see that all have a result.
func (n *narrowArithmetic) block(from, to int64) bool {
	x, xBits, ok := n.operand(0, from, to)
	if !ok {
		return false
	}
	y, yBits, ok := n.operand(1, from, to)
	if !ok {
		return false
	}
	sum := max(xBits, yBits) + 1
	if n.rule.op == kernels.Multiply {
		sum = xBits + yBits + 1
	}
	if sum > narrowBits {
		return n.rule.op == kernels.Multiply && n.products(from, to, x, y)
	}
	z, by := n.side[0].scratch[:to-from], &n.l.arithmetic.i64
	switch op := n.rule.op; {
	case x == nil && op == kernels.Subtract:
		by.left[op](z, n.side[0].value, y)
	case x == nil:
		by.right[op](z, y, n.side[0].value)
	case y == nil:
		by.right[op](z, x, n.side[1].value)
	default:
		by.columns[op](z, x, y)
	}
	if !n.l.digitsHold(z, sum, n.rule.precision) {
		return false
	}
	n.l.decimal.widen(n.dst[from:to], z)
	return true
}

// operand is a side's rows of the result's scale, nil for a scalar, and the bits of
// the longest.
func (n *narrowArithmetic) operand(i int, from, to int64) (v []int64, longest int, ok bool) {
	s := &n.side[i]
	if s.values == nil {
		return nil, s.bits, true
	}
	v, longest, ok = n.l.narrow(&s.scratch, s.values[from:to])
	if !ok || longest+s.byBits > narrowBits {
		return nil, 0, false
	}
	if s.byBits > 0 {
		n.l.arithmetic.i64.right[kernels.Multiply](v, v, s.by)
	}
	return v, longest + s.byBits, true
}

// products are those that do not fit 64 bits, of factors that do.
func (n *narrowArithmetic) products(from, to int64, x, y []int64) bool {
	dst, precision := n.dst[from:to], n.rule.precision
	a, b := n.side[0].value, n.side[1].value
	for i := range dst {
		if x != nil {
			a = x[i]
		}
		if y != nil {
			b = y[i]
		}
		high, low := bits.Mul64(uint64(a), uint64(b))
		high -= uint64(a>>63&b + b>>63&a)
		if precision < kernels.DecimalDigits && !(decimal{low, high}).fits(precision) { // 10^38 is more than 2^126
			return false
		}
		dst[i] = [2]uint64{low, high}
	}
	return true
}
