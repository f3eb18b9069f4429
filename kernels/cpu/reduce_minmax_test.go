package cpu

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// MinMax gives the bits that Reduce gives, of zeros, NaNs and infinities too.
func TestMinMaxIsReduce(t *testing.T) {
	b, err := New(host.New())
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	nan, zero := math.NaN(), math.Copysign(0, -1)
	long := make([]float64, morsel+4099)
	ints := make([]int32, len(long))
	for i := range long {
		long[i], ints[i] = float64(i*7919%100_003)-500, int32(i*7919%100_003)-500
	}
	columns := []*memory.Column{fixedColumn(t, arrow.PrimitiveTypes.Int32, ints), makeColumn(t, arrow.PrimitiveTypes.Int64, 0, nil),
		makeColumn(t, arrow.PrimitiveTypes.Int64, 100, func(i int) kernels.Scalar {
			if i%3 == 0 {
				return kernels.Null(arrow.PrimitiveTypes.Int64)
			}
			return kernels.Int64(int64(i))
		})}
	for _, v := range [][]float64{{1}, {zero, 0, zero}, {0, zero}, {nan}, {nan, 2, nan}, {math.Inf(1)}, {math.Inf(-1), nan}, {math.Inf(1), 3, math.Inf(-1)}, long} {
		columns = append(columns, fixedColumn(t, arrow.PrimitiveTypes.Float64, v))
	}
	ctx := context.Background()
	for i, c := range columns {
		for _, o := range []kernels.AggregateOptions{{}, {MinCount: 5}, {KeepNulls: true}} {
			least, greatest, err := b.MinMax(ctx, s, c, o)
			if err != nil {
				t.Fatal(err)
			}
			for op, got := range map[kernels.Aggregation]*memory.Column{kernels.Min: least, kernels.Max: greatest} {
				want, err := b.Reduce(ctx, s, op, c, o)
				if err != nil {
					t.Fatal(err)
				}
				if g, w := fmt.Sprint(kernels.ScalarAt(got, 0)), fmt.Sprint(kernels.ScalarAt(want, 0)); g != w {
					t.Errorf("column %d, %s, %+v: %s, not %s", i, op, o, g, w)
				}
				want.Release()
				got.Release()
			}
		}
	}
}
