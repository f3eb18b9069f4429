package expr

import (
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/kernels"
)

// The short way of giving a decimal another scale says what the way by large numbers says, or leaves it to that.
func TestRescaledDecimals(t *testing.T) {
	var values []decimal128.Num
	for _, x := range []int64{0, 1, -1, 9, 10, 99, 100, 101, 999_999_999, 1_000_000_000, 999_999_999_999_999_999, 1_000_000_000_000_000_000, math.MaxInt64, math.MinInt64, math.MinInt64 + 1} {
		values = append(values, decimal128.FromI64(x), decimal128.FromI64(-x))
	}
	values = append(values, decimal128.New(1, 0), decimal128.New(-1, 0), decimal128.New(0, math.MaxUint64))
	short := 0
	for _, from := range []int32{-2, 0, 1, 2, 18, 30} {
		for _, to := range []*arrow.Decimal128Type{{Precision: 1}, {Precision: 5, Scale: 2}, {Precision: 18, Scale: 2}, {Precision: 18, Scale: 18}, {Precision: 38, Scale: 2}, {Precision: 38, Scale: 37}, {Precision: 9, Scale: -2}} {
			for _, x := range values {
				v := kernels.Decimal(&arrow.Decimal128Type{Precision: 38, Scale: from}, x)
				got, ok := rescaled(v, to)
				if !ok {
					continue
				}
				short++
				n, scale, isNumber := exactDecimal(v)
				require.True(t, isNumber)
				want, exact := floorAt(n, scale, to.Scale)
				at := fmt.Sprintf("%v of scale %d as %v", x.BigInt(), from, to)
				require.True(t, exact && digitsOf(want) <= to.Precision, at)
				require.Equal(t, want.String(), got.Decimal().BigInt().String(), at)
				require.True(t, arrow.TypeEqual(to, got.Type()), at)
			}
		}
	}
	require.Greater(t, short, 100)
}
