package kerneltest

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
)

// wideDecimals are at the borders of what is computed with in 64 bits: the longest of
// 18 digits and the shortest of 19, the limits of integers and what is just past them.
var wideDecimals = func() []*big.Int {
	var all []*big.Int
	limit, digits := new(big.Int).Lsh(big.NewInt(1), 63), big.NewInt(1e18)
	for _, v := range []*big.Int{limit, digits, new(big.Int).Lsh(limit, 1), new(big.Int).Lsh(limit, 30), new(big.Int).Mul(digits, digits)} {
		for by := int64(-1); by <= 1; by++ {
			near := new(big.Int).Add(v, big.NewInt(by))
			all = append(all, near, new(big.Int).Neg(near))
		}
	}
	return all
}()

// decimals draws the values of one column: any, or such as fit 64 bits, all of them
// or all but a few.
func (s *Suite) decimals(t *arrow.Decimal128Type) func() value {
	digits := 1 + s.Rand.IntN(int(min(t.Precision, 18)))
	short := func() value {
		v := s.Rand.Int64N(int64(math.Pow10(digits)))
		if s.Rand.IntN(2) == 0 {
			v = -v
		}
		return signed(v)
	}
	border := func() value {
		most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
		v := wideDecimals[s.Rand.IntN(len(wideDecimals))]
		if v.CmpAbs(most) >= 0 {
			v = most.Sub(most, big.NewInt(1))
			if s.Rand.IntN(2) == 0 {
				v.Neg(v)
			}
		}
		return bigValue(v)
	}
	some := 2
	switch s.Rand.IntN(5) {
	case 0:
		return func() value { return s.drawDecimal(t) }
	case 1:
		return short
	case 2:
		some = 100
	case 3:
		some = 1000
	}
	return func() value {
		if s.Rand.IntN(some) == 0 {
			return border()
		}
		return short()
	}
}

// bigValue is a number in two's complement of 128 bits.
func bigValue(v *big.Int) value {
	word := new(big.Int).SetUint64(math.MaxUint64)
	high := new(big.Int).Rsh(v, 64)
	return value{new(big.Int).And(v, word).Uint64(), high.And(high, word).Uint64()}
}
