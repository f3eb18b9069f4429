package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// BenchmarkGroupSparse groups by keys spread over all of int64.
func BenchmarkGroupSparse(b *testing.B) {
	const rows = 10_000_000
	r := rand.New(rand.NewPCG(3, 4))
	x := onlyGroups(b)
	s, err := x.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	values := make([]float64, rows)
	for i := range values {
		values[i] = r.Float64()
	}
	v := fixedColumn(b, arrow.PrimitiveTypes.Float64, values)
	zipf := rand.NewZipf(r, 1.1, 1, 999_999)
	for _, groups := range []int64{20_000, 100_000, 1_000_000, 0} { // 0: by Zipf's law
		keys := make([]int64, rows)
		for i := range keys {
			var word uint64
			if groups > 0 {
				word = uint64(r.Int64N(groups))
			} else {
				word = zipf.Uint64()
			}
			keys[i] = int64(mix(word * 0x9e3779b97f4a7c15))
		}
		k := fixedColumn(b, arrow.PrimitiveTypes.Int64, keys)
		for _, order := range []string{"any", "first"} {
			for _, now := range []bool{false, true} {
				b.Run(fmt.Sprintf("groups=%d/order=%s/wide=%v", groups, order, now), func(b *testing.B) {
					old := largeL2
					largeL2 = now
					defer func() { largeL2 = old }()
					from := processorTime()
					for b.Loop() {
						g, err := x.GroupBy(context.Background(), s, []*memory.Column{k}, []kernels.Aggregate{{Op: kernels.CountAll},
							{Op: kernels.Sum, Values: v}}, kernels.GroupOptions{Keys: true, AnyOrder: order == "any"})
						if err != nil {
							b.Fatal(err)
						}
						g.Release()
					}
					b.ReportMetric(float64(processorTime()-from)/float64(b.N)/rows, "cpu-ns/row")
				})
			}
		}
	}
}
