package kernels

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

func referenceScan(ctx context.Context, s device.Stream, op ScanOp, c *memory.Column, o ScanOptions) (*memory.Column, error) {
	var results []Scalar
	var err error
	values := Scalars(c)
	switch id := c.Type().ID(); {
	case op == CumulativeMin || op == CumulativeMax:
		results = scanExtremes(op, c.Type(), values, o)
	case FloatTypes.Has(id):
		results = scanFloats(op, c.Type(), values, o)
	default:
		results, err = scanIntegers(op, c.Type(), values, o)
	}
	if err == nil {
		err = device.Canceled(ctx, s.Device().Name(), "")
	}
	if err != nil {
		return nil, err
	}
	if o.KeepNulls {
		null := false
		for i, v := range values {
			if null = null || !v.valid; null {
				results[i] = Null(c.Type())
			}
		}
	}
	return FromScalars(allocator(s), c.Type(), results)
}

// running gives the results by the state before a row and that after it.
func running(t arrow.DataType, values []Scalar, o ScanOptions, state func() Scalar, take func(i int, v Scalar) error) ([]Scalar, error) {
	results := make([]Scalar, len(values))
	for i, v := range values {
		before := state()
		if v.valid {
			if err := take(i, v); err != nil {
				return nil, err
			}
		}
		switch {
		case !v.valid:
			results[i] = Null(t)
		case o.Exclusive:
			results[i] = before
		default:
			results[i] = state()
		}
	}
	return results, nil
}

func scanExtremes(op ScanOp, t arrow.DataType, values []Scalar, o ScanOptions) []Scalar {
	best := ScanIdentity(op, t)
	some := false
	by := Min
	if op == CumulativeMax {
		by = Max
	}
	results, _ := running(t, values, o, func() Scalar { return best }, func(_ int, v Scalar) error {
		if !some || takes(by, v, best) {
			best, some = v, true
		}
		return nil
	})
	return results
}

func scanFloats(op ScanOp, t arrow.DataType, values []Scalar, o ScanOptions) []Scalar {
	start, join := 0.0, func(a, b float64) float64 { return a + b }
	if op == CumulativeProduct {
		start, join = 1, func(a, b float64) float64 { return a * b }
	}
	total, part := start, start
	results := make([]Scalar, len(values))
	for i, v := range values {
		if i%ScanBlock == 0 {
			total, part = join(total, part), start
		}
		before := join(total, part)
		if v.valid {
			part = join(part, v.Float64())
		}
		switch {
		case !v.valid:
			results[i] = Null(t)
		case o.Exclusive:
			results[i] = Float(t, before)
		default:
			results[i] = Float(t, join(total, part))
		}
	}
	return results
}

func scanIntegers(op ScanOp, t arrow.DataType, values []Scalar, o ScanOptions) ([]Scalar, error) {
	start := ScanIdentity(op, t)
	state, exact := big.NewInt(start.Int64()), new(big.Int)
	after := -1 // the row whose value made the state too big
	var failed error
	results, err := running(t, values, o, func() Scalar { return wrapInteger(t, state) }, func(i int, v Scalar) error {
		if after >= 0 && o.Checked {
			return nil
		}
		number := new(big.Int)
		switch id := t.ID(); {
		case id == arrow.DECIMAL128:
			number = v.Decimal().BigInt()
		case UnsignedTypes.Has(id):
			number.SetUint64(v.bits)
		default:
			number.SetInt64(v.Int64())
		}
		if op == CumulativeSum {
			exact.Add(state, number)
		} else {
			exact.Mul(state, number)
		}
		if w := integerOf(wrapInteger(t, exact)); o.Checked && w.Cmp(exact) != 0 {
			after = i
			return nil
		} else {
			state.Set(w)
		}
		return nil
	})
	if after >= 0 {
		row := after
		if o.Exclusive { // the first result that needs the sum is that of the next value
			for row++; row < len(values) && !values[row].valid; row++ {
			}
		}
		if row < len(values) && !nullFrom(values, row, o) {
			failed = fmt.Errorf("%w: row %d: %s overflows %s", device.ErrValue, row, op, t)
		}
	}
	if err == nil {
		err = failed
	}
	return results, err
}

// nullFrom reports whether KeepNulls makes a row null.
func nullFrom(values []Scalar, row int, o ScanOptions) bool {
	for _, v := range values[:row] {
		if o.KeepNulls && !v.valid {
			return true
		}
	}
	return false
}

// wrapInteger is an integer cut to the width of a type.
func wrapInteger(t arrow.DataType, v *big.Int) Scalar {
	low := new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	if t.ID() == arrow.DECIMAL128 {
		high := new(big.Int).And(new(big.Int).Rsh(v, 64), new(big.Int).SetUint64(math.MaxUint64)).Uint64()
		return Decimal(t, decimal128.New(int64(high), low))
	}
	return Int(t, int64(low))
}

// integerOf is the number that a scalar stands for.
func integerOf(v Scalar) *big.Int {
	switch id := v.typ.ID(); {
	case id == arrow.DECIMAL128:
		return v.Decimal().BigInt()
	case UnsignedTypes.Has(id):
		return new(big.Int).SetUint64(v.bits)
	default:
		return big.NewInt(v.Int64())
	}
}

// ScanIdentity is what a scan of a type begins with: 0, 1, the greatest value
// for CumulativeMin and the least for CumulativeMax (of floats the infinities,
// of decimals those of 128 bits).
func ScanIdentity(op ScanOp, t arrow.DataType) Scalar {
	id := t.ID()
	switch {
	case op == CumulativeSum && id == arrow.DECIMAL128:
		return Decimal(t, decimal128.Num{})
	case (op == CumulativeSum || op == CumulativeProduct) && FloatTypes.Has(id):
		return Float(t, float64(op))
	case op == CumulativeSum || op == CumulativeProduct:
		return Int(t, int64(op))
	case FloatTypes.Has(id) && op == CumulativeMin:
		return Float(t, math.Inf(1))
	case FloatTypes.Has(id):
		return Float(t, math.Inf(-1))
	case id == arrow.DECIMAL128 && op == CumulativeMin:
		return Decimal(t, decimal128.New(math.MaxInt64, math.MaxUint64))
	case id == arrow.DECIMAL128:
		return Decimal(t, decimal128.New(math.MinInt64, 0))
	case UnsignedTypes.Has(id) && op == CumulativeMin:
		return Int(t, -1) // cut to the width: all ones
	case UnsignedTypes.Has(id):
		return Int(t, 0)
	}
	bits := uint(8 * memory.Width(t))
	if op == CumulativeMin {
		return Int(t, 1<<(bits-1)-1)
	}
	return Int(t, -1<<(bits-1))
}
