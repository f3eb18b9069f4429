package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// minMax is the CPU's MinMaxFunc: columns of numbers without nulls are read
// once; others are reduced twice.
func (l *loops) minMax(ctx context.Context, s device.Stream, c *memory.Column, o kernels.AggregateOptions) (least, greatest *memory.Column, err error) {
	var both [2]kernels.Scalar
	if c.Len() > 0 && !hasNulls(c) && !o.Nulled(kernels.Min, c.Len(), c.Len()) {
		switch c.Type().ID() {
		case arrow.FLOAT64:
			both, err = extremes[float64](ctx, l, c)
		case arrow.FLOAT32:
			both, err = extremes[float32](ctx, l, c)
		case arrow.INT64:
			both, err = extremes[int64](ctx, l, c)
		case arrow.INT32:
			both, err = extremes[int32](ctx, l, c)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	var out [2]*memory.Column
	for i, op := range []kernels.Aggregation{kernels.Min, kernels.Max} {
		if both[i].Valid() {
			out[i], err = kernels.FromScalars(s.Device().Memory(), c.Type(), both[i:i+1])
		} else {
			out[i], err = l.reduceColumn(ctx, s, op, c, o)
		}
		if err != nil {
			out[0].Release()
			return nil, nil, err
		}
	}
	return out[0], out[1], nil
}

// extremes are the least and the greatest number, null where there is nothing
// but NaNs or infinities that look the same as nothing. Of zeros, which are equal
// and may have different signs, it is the first.
func extremes[T number](ctx context.Context, l *loops, c *memory.Column) (both [2]kernels.Scalar, err error) {
	loop, values := reductionsOf[T](l).extremes, memory.Values[T](c)
	lows, highs := make([]found[T], morsels(c.Len())), make([]found[T], morsels(c.Len()))
	err = parallel(ctx, c.Len(), func(_ int, s span) error {
		low, high := loop(values[s.from:s.to], greatestNumber[T](), leastNumber[T]())
		lows[s.index] = found[T]{low, low != greatestNumber[T]()}
		highs[s.index] = found[T]{high, high != leastNumber[T]()}
		return nil
	})
	if err != nil {
		return both, err
	}
	for i, parts := range [][]found[T]{lows, highs} {
		best := found[T]{}
		for _, p := range parts {
			if p.any && (!best.any || p.value != best.value && (p.value > best.value) == (i == 1)) {
				best = p
			}
		}
		switch {
		case !best.any:
		case best.value == 0:
			row, err := rowOfExtreme(ctx, c, parts, i == 1)
			if err != nil {
				return both, err
			}
			both[i] = kernels.ScalarAt(c, row)
		default:
			both[i] = scalarOf(c.Type(), best.value)
		}
	}
	return both, nil
}

// scalarOf is a value that is not null.
func scalarOf[T number](t arrow.DataType, v T) kernels.Scalar {
	if kernels.FloatTypes.Has(t.ID()) {
		return kernels.Float(t, float64(v))
	}
	return kernels.Int(t, int64(v))
}
