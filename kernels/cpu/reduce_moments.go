package cpu

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// deviationsFromLeast are those of deviations for types that float64 does not hold:
// values are taken from the least of them, exactly, before they are rounded.
func (l *loops) deviationsFromLeast(ctx context.Context, c *memory.Column, valid int64) (d, squares float64, err error) {
	row, err := l.pickRow(ctx, kernels.ArgMin, c)
	if err != nil {
		return 0, 0, err
	}
	source := fromLeast(c, kernels.ScalarAt(c, row))
	sums, err := inShape(ctx, c, source, 0, func(v []float64) two { return two{sumLanes(v)} }, add)
	if err != nil {
		return 0, 0, err
	}
	mean := sums[0] / float64(valid)
	sums, err = inShape(ctx, c, source, mean, func(v []float64) two { return deviateLanes(v, mean) }, add)
	return sums[0], sums[1], err
}

// fromLeast is the source of the distances of values from the least one.
func fromLeast(c *memory.Column, least kernels.Scalar) floatSource {
	if t, ok := valueType(c).(*arrow.Decimal128Type); ok {
		values, low := valuesOf[[2]uint64](c), decimalOf(least)
		unit := math.Pow10(int(t.Scale))
		return distances(c, values, func(x [2]uint64) float64 { return distance(decimal{x[0], x[1]}, low) / unit })
	}
	low := least.Uint64()
	return distances(c, valuesOf[uint64](c), func(x uint64) float64 { return float64(x - low) })
}

func distances[T any](c *memory.Column, values func(room []T, from int64, n int) []T, of func(T) float64) floatSource {
	return func(room *lanes, from int64, n int, null float64) []float64 {
		for i := range n {
			room[i] = null
		}
		eachRow(c, from, values(nil, from, n), func(i int, x T) { room[i] = of(x) })
		return room[:n]
	}
}
