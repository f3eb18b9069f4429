package reference

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func scan(ctx context.Context, s device.Stream, op kernels.ScanOp, c *memory.Column, o kernels.ScanOptions) (*memory.Column, error) {
	var results []kernels.Scalar
	var err error
	values := kernels.Scalars(c)
	switch id := c.Type().ID(); {
	case op == kernels.CumulativeMin || op == kernels.CumulativeMax:
		results = scanExtremes(op, c.Type(), values, o)
	case kernels.FloatTypes.Has(id):
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
			if null = null || !v.Valid(); null {
				results[i] = kernels.Null(c.Type())
			}
		}
	}
	return kernels.FromScalars(hostMemory(s), c.Type(), results)
}

// running gives the results by the state before a row and that after it.
func running(t arrow.DataType, values []kernels.Scalar, o kernels.ScanOptions, state func() kernels.Scalar, take func(i int, v kernels.Scalar) error) ([]kernels.Scalar, error) {
	results := make([]kernels.Scalar, len(values))
	for i, v := range values {
		before := state()
		if v.Valid() {
			if err := take(i, v); err != nil {
				return nil, err
			}
		}
		switch {
		case !v.Valid():
			results[i] = kernels.Null(t)
		case o.Exclusive:
			results[i] = before
		default:
			results[i] = state()
		}
	}
	return results, nil
}

func scanExtremes(op kernels.ScanOp, t arrow.DataType, values []kernels.Scalar, o kernels.ScanOptions) []kernels.Scalar {
	best := kernels.ScanIdentity(op, t)
	some := false
	by := kernels.Min
	if op == kernels.CumulativeMax {
		by = kernels.Max
	}
	results, _ := running(t, values, o, func() kernels.Scalar { return best }, func(_ int, v kernels.Scalar) error {
		if !some || takes(by, v, best) {
			best, some = v, true
		}
		return nil
	})
	return results
}

func scanFloats(op kernels.ScanOp, t arrow.DataType, values []kernels.Scalar, o kernels.ScanOptions) []kernels.Scalar {
	start, join := 0.0, func(a, b float64) float64 { return a + b }
	if op == kernels.CumulativeProduct {
		start, join = 1, func(a, b float64) float64 { return a * b }
	}
	total, part := start, start
	results := make([]kernels.Scalar, len(values))
	for i, v := range values {
		if i%kernels.ScanBlock == 0 {
			total, part = join(total, part), start
		}
		before := join(total, part)
		if v.Valid() {
			part = join(part, v.Float64())
		}
		switch {
		case !v.Valid():
			results[i] = kernels.Null(t)
		case o.Exclusive:
			results[i] = kernels.Float(t, before)
		default:
			results[i] = kernels.Float(t, join(total, part))
		}
	}
	return results
}

func scanIntegers(op kernels.ScanOp, t arrow.DataType, values []kernels.Scalar, o kernels.ScanOptions) ([]kernels.Scalar, error) {
	start := kernels.ScanIdentity(op, t)
	state, exact := big.NewInt(start.Int64()), new(big.Int)
	after := -1 // the row whose value made the state too big
	var failed error
	results, err := running(t, values, o, func() kernels.Scalar { return wrapInteger(t, state) }, func(i int, v kernels.Scalar) error {
		if after >= 0 && o.Checked {
			return nil
		}
		if op == kernels.CumulativeSum {
			exact.Add(state, v.Big())
		} else {
			exact.Mul(state, v.Big())
		}
		if w := wrapInteger(t, exact).Big(); o.Checked && w.Cmp(exact) != 0 {
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
			for row++; row < len(values) && !values[row].Valid(); row++ {
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
func nullFrom(values []kernels.Scalar, row int, o kernels.ScanOptions) bool {
	for _, v := range values[:row] {
		if o.KeepNulls && !v.Valid() {
			return true
		}
	}
	return false
}

// wrapInteger is an integer cut to the width of a type.
func wrapInteger(t arrow.DataType, v *big.Int) kernels.Scalar {
	low := new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	if t.ID() == arrow.DECIMAL128 {
		high := new(big.Int).And(new(big.Int).Rsh(v, 64), new(big.Int).SetUint64(math.MaxUint64)).Uint64()
		return kernels.Decimal(t, decimal128.New(int64(high), low))
	}
	return kernels.Int(t, int64(low))
}
