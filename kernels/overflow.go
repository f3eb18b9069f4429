package kernels

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
)

// OverflowError is the ErrValue of a sum or product that does not fit the type
// of its result. Aggregations never wrap unless they are called SumWrapping.
type OverflowError struct {
	Op   Aggregation
	Type arrow.DataType // of the result
	At   int            // which of the aggregates of GroupBy
}

// Error says what does not fit, and which aggregation would give it.
func (e *OverflowError) Error() string {
	hint := ""
	if e.Op == Sum && e.Type.ID() != arrow.DECIMAL128 {
		hint = fmt.Sprintf("; %s wraps", SumWrapping)
	}
	return fmt.Sprintf("%v: the %s does not fit %s%s", device.ErrValue, e.Op, e.Type, hint)
}

// Unwrap gives the kind.
func (e *OverflowError) Unwrap() error { return device.ErrValue }

// DecimalDigits is the greatest precision of a decimal128: results beyond it are
// errors.
const DecimalDigits = 38

// Total is an exact sum or product as a scalar of type t, the result's, or an
// OverflowError: for backends that join parts on the host. SumWrapping takes the
// low 64 bits.
func Total(op Aggregation, t arrow.DataType, exact *big.Int) (Scalar, error) {
	if d, ok := t.(*arrow.Decimal128Type); ok {
		if v, fits := FromBig(exact, d); fits {
			return v, nil
		}
		return Scalar{}, &OverflowError{Op: op, Type: t}
	}
	low := new(big.Int).And(exact, new(big.Int).SetUint64(1<<64-1))
	v := Int(t, int64(low.Uint64()))
	if op != SumWrapping && v.Big().Cmp(exact) != 0 {
		return Scalar{}, &OverflowError{Op: op, Type: t}
	}
	return v, nil
}

// ExactProduct is a product of integers of 64 bits: its sign, its magnitude, and
// whether that passed 64 bits. The zero value is no product; begin with One.
type ExactProduct struct {
	magnitude uint64
	negative  bool
	zero      bool
	past      bool
}

// One is the product of nothing.
func One() ExactProduct { return ExactProduct{magnitude: 1} }

// Times takes in a value: its bits, of an int64 where signed.
func (p *ExactProduct) Times(v uint64, signed bool) {
	if signed && int64(v) < 0 {
		p.negative, v = !p.negative, -v
	}
	if v == 0 {
		p.zero = true
		return
	}
	p.grow(v)
}

// Join takes in another product.
func (p *ExactProduct) Join(other ExactProduct) {
	p.negative = p.negative != other.negative
	p.zero, p.past = p.zero || other.zero, p.past || other.past
	p.grow(other.magnitude)
}

// grow multiplies the magnitude; once it is past 64 bits it stays so, since no
// factor is 0.
func (p *ExactProduct) grow(v uint64) {
	high, low := bits.Mul64(p.magnitude, v)
	p.past = p.past || high != 0
	p.magnitude = low
}

// Bits is the product as 64 bits, and whether they hold it.
func (p ExactProduct) Bits(signed bool) (uint64, bool) {
	switch {
	case p.zero:
		return 0, true
	case p.past:
		return 0, false
	case !signed:
		return p.magnitude, true
	case p.negative:
		return -p.magnitude, p.magnitude <= 1<<63
	default:
		return p.magnitude, p.magnitude < 1<<63
	}
}

// FromLeast reports whether Var and Std take values of a type from the least of
// them before they become float64, which does not hold them all.
func FromLeast(t arrow.DataType) bool {
	id := t.ID()
	return id == arrow.INT64 || id == arrow.UINT64 || id == arrow.DECIMAL128
}

// Float128 is the float64 nearest to an unsigned integer of 128 bits.
func Float128(high, low uint64) float64 {
	if high == 0 {
		return float64(low)
	}
	shift := bits.LeadingZeros64(high)
	top := high<<shift | low>>(64-shift)
	if low<<shift != 0 {
		top |= 1 // what is cut off still decides how a half is rounded
	}
	return math.Ldexp(float64(top), 64-shift)
}
