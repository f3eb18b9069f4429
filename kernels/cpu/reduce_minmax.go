package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// minMax is the CPU's MinMaxFunc: columns of numbers without nulls are read
// once, a run of values that the first-level cache holds at a time; others are
// reduced twice.
func (l *loops) minMax(ctx context.Context, s device.Stream, c *memory.Column, o kernels.AggregateOptions) (least, greatest *memory.Column, err error) {
	rows := [2]int64{-1, -1}
	if c.Len() > 0 && !hasNulls(c) && !o.Nulled(kernels.Min, c.Len(), c.Len()) {
		switch c.Type().ID() {
		case arrow.FLOAT64:
			rows, err = bothExtremes[float64](ctx, l, c)
		case arrow.FLOAT32:
			rows, err = bothExtremes[float32](ctx, l, c)
		case arrow.INT64:
			rows, err = bothExtremes[int64](ctx, l, c)
		case arrow.INT32:
			rows, err = bothExtremes[int32](ctx, l, c)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	var out [2]*memory.Column
	for i, op := range []kernels.Aggregation{kernels.Min, kernels.Max} {
		if rows[i] < 0 {
			out[i], err = l.reduceColumn(ctx, s, op, c, o)
		} else {
			out[i], err = kernels.FromScalars(s.Device().Memory(), c.Type(), []kernels.Scalar{kernels.ScalarAt(c, rows[i])})
		}
		if err != nil {
			out[0].Release()
			return nil, nil, err
		}
	}
	return out[0], out[1], nil
}

// bothExtremes are the rows of the first least and the first greatest number, a
// negative one where there is nothing but NaNs or infinities that look the same
// as nothing.
func bothExtremes[T number](ctx context.Context, l *loops, c *memory.Column) (rows [2]int64, err error) {
	const run = 1 << 11
	loops, values := reductionsOf[T](l), memory.Values[T](c)
	lows, highs := make([]found[T], morsels(c.Len())), make([]found[T], morsels(c.Len()))
	err = parallel(ctx, c.Len(), func(_ int, s span) error {
		low, high := greatestNumber[T](), leastNumber[T]()
		for from := s.from; from < s.to; from += run {
			v := values[from:min(from+run, s.to)]
			low, high = loops.least(v, low), loops.greatest(v, high)
		}
		lows[s.index] = found[T]{low, low != greatestNumber[T]()}
		highs[s.index] = found[T]{high, high != leastNumber[T]()}
		return nil
	})
	for i, parts := range [][]found[T]{lows, highs} {
		rows[i] = -1
		for _, p := range parts {
			if err == nil && p.any {
				rows[i], err = rowOfExtreme(ctx, c, parts, i == 1)
				break
			}
		}
	}
	return rows, err
}
