package expr

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/kernels"
)

// exactDecimal is the number that a literal is written as: n / 10^scale. A float is
// the shortest text that gives it, so that 0.1 is a tenth. ok is false for what is no
// number, or none that is finite.
func exactDecimal(v kernels.Scalar) (n *big.Int, scale int32, ok bool) {
	if !v.Valid() {
		return nil, 0, false
	}
	id := v.Type().ID()
	switch {
	case id == arrow.DECIMAL128:
		return v.Decimal().BigInt(), v.Type().(*arrow.Decimal128Type).Scale, true
	case kernels.UnsignedTypes.Has(id):
		return new(big.Int).SetUint64(v.Uint64()), 0, true
	case kernels.SignedTypes.Has(id):
		return big.NewInt(v.Int64()), 0, true
	case kernels.FloatTypes.Has(id):
		bits := 64
		if id == arrow.FLOAT32 {
			bits = 32
		}
		return decimalText(strconv.FormatFloat(v.Float64(), 'f', -1, bits))
	case id == arrow.STRING:
		return decimalText(v.Text())
	}
	return nil, 0, false
}

// decimalText reads digits with a sign and a point.
func decimalText(text string) (n *big.Int, scale int32, ok bool) {
	whole, rest, point := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole, "+-")
	if len(whole)-len(digits) > 1 || digits == "" && rest == "" || len(text) > 400 || point && strings.Trim(rest, "0123456789") != "" || strings.Trim(digits, "0123456789") != "" {
		return nil, 0, false
	}
	n, ok = new(big.Int).SetString(whole+rest, 10)
	return n, int32(len(rest)), ok
}

// ownDecimal is a literal as the decimal that it is written as: 2 has no digits
// after the point, 0.25 two.
func ownDecimal(v kernels.Scalar) (kernels.Scalar, bool) {
	n, scale, ok := exactDecimal(v)
	if !ok {
		return v, false
	}
	if v.Type().ID() == arrow.DECIMAL128 {
		return v, true
	}
	t := &arrow.Decimal128Type{Precision: max(digitsOf(n), scale, 1), Scale: scale}
	if t.Precision > kernels.DecimalDigits {
		return v, false
	}
	return kernels.Decimal(t, decimal128.FromBigInt(n)), true
}

// quotient makes both sides of a division float64 where one is a decimal and the
// other a number, as SQL engines do: no scale is right for every quotient.
func (b *binder) quotient(x, y int) (int, int) {
	sides := [2]int{x, y}
	decimal := b.typ(x).ID() == arrow.DECIMAL128 || b.typ(y).ID() == arrow.DECIMAL128
	for i, side := range sides {
		v, lit := b.constant(side)
		switch id := b.typ(side).ID(); {
		case lit && v.Valid() && id == arrow.STRING:
			number, err := parseValue(arrow.PrimitiveTypes.Float64, v.Text())
			if err != nil {
				return x, y
			}
			sides[i] = b.literal(number)
		case (kernels.NumberTypes | kernels.DecimalTypes | kernels.NullTypes).Has(id):
			sides[i] = b.widen(side, arrow.PrimitiveTypes.Float64)
		default:
			return x, y
		}
	}
	if !decimal {
		return x, y
	}
	return sides[0], sides[1]
}

func digitsOf(n *big.Int) int32 { return int32(len(new(big.Int).Abs(n).String())) }

// floorAt is the greatest n / 10^to that is not above from / 10^scale, and whether
// it is equal.
func floorAt(from *big.Int, scale, to int32) (n *big.Int, exact bool) {
	if to >= scale {
		return new(big.Int).Mul(from, power(to-scale)), true
	}
	n, rest := new(big.Int).DivMod(from, power(scale-to), new(big.Int)) // Euclidean: rounds down
	return n, rest.Sign() == 0
}

func power(digits int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
}

// asDecimalOf gives a number the type d, where that changes nothing of it.
func asDecimalOf(v kernels.Scalar, d *arrow.Decimal128Type) (kernels.Scalar, bool) {
	if n, ok := rescaled(v, d); ok {
		return n, true
	}
	n, scale, ok := exactDecimal(v)
	if !ok {
		return v, false
	}
	n, exact := floorAt(n, scale, d.Scale)
	if !exact || digitsOf(n) > d.Precision {
		return v, false
	}
	return kernels.Decimal(d, decimal128.FromBigInt(n)), true
}

// rescaled is asDecimalOf of what 64 bits hold before and after, where the scale does not fall: a list of many decimals takes no memory then.
func rescaled(v kernels.Scalar, d *arrow.Decimal128Type) (kernels.Scalar, bool) {
	from, ok := v.Type().(*arrow.Decimal128Type)
	if !ok || !v.Valid() || d.Scale < from.Scale || d.Scale-from.Scale > 18 {
		return v, false
	}
	n := v.Decimal()
	low := int64(n.LowBits())
	if n.HighBits() != low>>63 {
		return v, false
	}
	factor, limit := int64(1), int64(1)
	for range d.Scale - from.Scale {
		factor *= 10
	}
	for range min(d.Precision, 18) {
		limit *= 10
	}
	if most := (limit - 1) / factor; low > most || low < -most {
		return v, false
	}
	return kernels.Decimal(d, decimal128.FromI64(low*factor)), true
}

// betweenDecimals compares decimals with a literal that none of them equals: one with
// more digits after the point than they have, or past all of them. It becomes a
// comparison that answers the same without a cast.
func (b *binder) betweenDecimals(op kernels.CompareOp, x, y int) (int, bool) {
	d, isDecimal := b.typ(x).(*arrow.Decimal128Type)
	v, lit := b.constant(y)
	if _, xLit := b.constant(x); !lit || xLit || !isDecimal || v.Type().ID() == arrow.STRING {
		return 0, false
	}
	n, scale, ok := exactDecimal(v)
	if !ok {
		return 0, false
	}
	floor, exact := floorAt(n, scale, d.Scale)
	most := new(big.Int).Sub(power(kernels.DecimalDigits), big.NewInt(1))
	above, below := floor.Cmp(most) > 0, floor.Cmp(new(big.Int).Neg(most)) < 0
	if exact && !above && !below {
		return 0, false // asDecimalOf, or a cast, gives it their scale
	}
	literal := func(n *big.Int) int { return b.literal(kernels.Decimal(d, decimal128.FromBigInt(n))) }
	least := literal(new(big.Int).Neg(most))
	always := func(answer bool) int {
		if answer {
			return b.call(OpGe, boolean, x, least)
		}
		return b.call(OpLt, boolean, x, least)
	}
	switch greater := op == kernels.Greater || op == kernels.GreaterEqual; {
	case op == kernels.Equal || op == kernels.NotEqual:
		return always(op == kernels.NotEqual), true
	case below || above:
		return always(below == greater), true
	case greater:
		return b.call(OpGt, boolean, x, literal(floor)), true
	default:
		return b.call(OpLe, boolean, x, literal(floor)), true
	}
}
