package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Decimals are integers of 64 bits between the steps of a program. A block knows how
// long the longest value of each step may be; where a value is longer than 64 bits, or
// a step cannot be proved to fit them, the program is refused, and the kernels, which
// go over to 128 bits block by block, run one after another.

// laneID is the id of the numbers that a program computes a type with.
func laneID(t arrow.DataType) arrow.Type {
	if t.ID() == arrow.DECIMAL128 {
		return arrow.INT64
	}
	return storageID(t)
}

// decimalColumn has each block of a column narrowed into scratch.
func (p *evalPlan) decimalColumn(i int, c *memory.Column) {
	if p.steps[i].last == 0 { // no step reads it
		return
	}
	p.steps[i].values = p.place(8)
	src := memory.Values[[2]uint64](c)
	p.add(func(b *evalBlock) bool {
		magnitude, wide := p.l.decimal.narrow(stepValues[int64](b, i), src[b.from:b.from+b.n])
		b.longest[i] = bits.Len64(magnitude)
		return wide == 0
	})
}

// decimalScalar refuses a program with a value that is no integer of 64 bits.
func (p *evalPlan) decimalScalar(i int) {
	st := p.program.Steps[i]
	if st.Type.ID() != arrow.DECIMAL128 || !st.Value.Valid() {
		return
	}
	if _, ok := decimalOf(st.Value).narrow(); !ok {
		p.add(func(*evalBlock) bool { return false })
	}
}

// decimalResult writes the decimals of step i as a result.
func (p *evalPlan) decimalResult(s device.Stream, i int) error {
	to := len(p.steps)
	p.steps = append(p.steps, evalStep{width: 16, null: p.steps[i].null})
	if p.steps[i].null {
		p.add(func(b *evalBlock) bool {
			copy(bitsAt(b.valid[to], b.n), bitsAt(b.valid[i], b.n))
			return true
		})
	}
	p.add(func(b *evalBlock) bool {
		p.l.decimal.widen(unsafe.Slice((*[2]uint64)(b.values[to]), b.n), stepValues[int64](b, i))
		return true
	})
	return p.result(s, to, i)
}

// decimalSide is an operand of a step, which is multiplied by a power of ten.
type decimalSide struct {
	step     int
	constant bool
	value    int64 // of a constant, multiplied
	longest  int
	by       int64
	byBits   int
	place    evalPlace // of its multiples
}

func (p *evalPlan) decimalSide(step int, up int32) (s decimalSide, ok bool) {
	s = decimalSide{step: step}
	power, longest, ok := powerBits(up)
	if v, constant := p.constant(step); constant {
		scaled, fits := decimalOf(v).scaleUp(up)
		if s.value, ok = scaled.narrow(); !ok || !fits {
			return s, false
		}
		s.constant, s.longest = true, lengthOf(s.value)
		return s, true
	}
	p.copied(step)
	if up > 0 {
		s.by, s.byBits, s.place = power, longest, p.kept(8)
	}
	return s, ok
}

// measured is how long the values of a step are, which their bounds have as longer.
func (b *evalBlock) measured(i int) int {
	all := uint64(0)
	for _, v := range stepValues[int64](b, i) {
		all |= uint64(v ^ v>>63)
	}
	b.longest[i] = bits.Len64(all)
	return b.longest[i]
}

// bound is how long a side's values may be.
func (s *decimalSide) bound(b *evalBlock, measure bool) int {
	switch {
	case s.constant:
		return s.longest
	case measure:
		return b.measured(s.step) + s.byBits
	default:
		return b.longest[s.step] + s.byBits
	}
}

// lanes are a side's values, nil of a constant.
func (s *decimalSide) lanes(p *evalPlan, b *evalBlock) []int64 {
	if s.constant {
		return nil
	}
	v := stepValues[int64](b, s.step)
	if s.byBits == 0 {
		return v
	}
	to := lanesAt[int64](unsafe.Add(b.room, s.place.at*p.times), b.n)
	p.l.arithmetic.i64.right[kernels.Multiply](to, v, s.by)
	return to
}

func (p *evalPlan) decimalArithmetic(i int) evalLoop {
	st := p.program.Steps[i]
	op, to := kernels.ArithmeticOp(st.Op), st.Type.(*arrow.Decimal128Type)
	rule := decimalRuleOf(op, p.program.Steps[st.Args[0]].Type, p.program.Steps[st.Args[1]].Type, to)
	x, okx := p.decimalSide(st.Args[0], rule.up[0])
	y, oky := p.decimalSide(st.Args[1], rule.up[1])
	if !okx || !oky {
		return func(*evalBlock) bool { return false }
	}
	if x.constant && y.constant {
		p.copied(x.step)
		x.constant, x.by, x.byBits = false, int64(powers[rule.up[0]].lo), lengthOf(int64(powers[rule.up[0]].lo))
		x.place = p.kept(8)
	}
	longest := func(b *evalBlock, measure bool) (n int, ok bool) {
		a, c := x.bound(b, measure), y.bound(b, measure)
		if n = max(a, c) + 1; op == kernels.Multiply {
			n = a + c + 1
		}
		return n, n <= narrowBits && a <= narrowBits && c <= narrowBits
	}
	by := &p.l.arithmetic.i64
	return func(b *evalBlock) bool {
		n, ok := longest(b, false)
		if !ok {
			if n, ok = longest(b, true); !ok {
				return false
			}
		}
		z, left, right := stepValues[int64](b, i), x.lanes(p, b), y.lanes(p, b)
		switch {
		case left == nil && op == kernels.Subtract:
			by.left[op](z, x.value, right)
		case left == nil:
			by.right[op](z, right, x.value)
		case right == nil:
			by.right[op](z, left, y.value)
		default:
			by.columns[op](z, left, right)
		}
		b.longest[i] = n
		return p.l.digitsHold(z, n, to.Precision)
	}
}

// decimalCast makes decimals of integers and of decimals with fewer digits behind the
// point, and float64 of decimals.
func (p *evalPlan) decimalCast(i, x int) evalLoop {
	st := p.program.Steps[i]
	from := p.program.Steps[x].Type
	to, decimal := st.Type.(*arrow.Decimal128Type)
	if !decimal {
		unit := math.Pow10(int(from.(*arrow.Decimal128Type).Scale))
		return func(b *evalBlock) bool {
			if b.longest[x] > exactFloat && b.measured(x) > exactFloat {
				return false
			}
			run := stepValues[float64](b, i)
			p.l.convert.i64ToF64(run, stepValues[int64](b, x))
			p.l.arithmetic.f64.right[kernels.Divide](run, run, unit)
			return true
		}
	}
	digits := to.Scale
	convert := func(b *evalBlock) bool { // integers of 64 bits, and how long they are
		copy(stepValues[int64](b, i), stepValues[int64](b, x))
		b.longest[i] = b.longest[x]
		return true
	}
	if d, was := from.(*arrow.Decimal128Type); was {
		digits -= d.Scale
	} else {
		loop := p.l.castLanes(storageID(from), arrow.INT64)
		convert = func(b *evalBlock) bool {
			if loop(b.values[i], b.values[x], b.n) {
				return false
			}
			b.measured(i)
			return true
		}
	}
	power, longest, ok := powerBits(digits)
	if digits == 0 {
		longest = 0
	}
	return func(b *evalBlock) bool {
		if !ok || !convert(b) {
			return false
		}
		v := stepValues[int64](b, i)
		if b.longest[i]+longest > narrowBits && b.measured(i)+longest > narrowBits {
			return false
		}
		if digits > 0 {
			p.l.arithmetic.i64.right[kernels.Multiply](v, v, power)
		}
		b.longest[i] += longest
		return p.l.digitsHold(v, b.longest[i], to.Precision)
	}
}
