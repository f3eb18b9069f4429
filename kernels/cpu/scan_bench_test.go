package cpu

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// BenchmarkCumulativeSum times running sums of a column beside a copy of the same
// memory into memory like the result's, in turns. ns/op is of the sum alone,
// copy-ns/op of the copy, and of-copy the least time of a copy over the least of a
// sum: both read and write as many bytes.
func BenchmarkCumulativeSum(b *testing.B) {
	types := arrow.PrimitiveTypes
	for _, rows := range []int{1_000_000, 10_000_000} {
		for _, set := range Tiers() {
			name := func(t arrow.DataType) string { return fmt.Sprintf("type=%s/rows=%d/tier=%s", t, rows, set.Name) }
			b.Run(name(types.Int32), func(b *testing.B) { sumBesideCopy[int32](b, set, types.Int32, rows) })
			b.Run(name(types.Int64), func(b *testing.B) { sumBesideCopy[int64](b, set, types.Int64, rows) })
			b.Run(name(types.Float32), func(b *testing.B) { sumBesideCopy[float32](b, set, types.Float32, rows) })
			b.Run(name(types.Float64), func(b *testing.B) { sumBesideCopy[float64](b, set, types.Float64, rows) })
		}
	}
}

func sumBesideCopy[T number](b *testing.B, set *kernels.Set, typ arrow.DataType, rows int) {
	d := host.New()
	defer d.Close()
	s, err := d.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	room := func() *memory.Buffer {
		m, err := memory.New(d.Memory(), int64(rows)*int64(memory.Width(typ)))
		if err != nil {
			b.Fatal(err)
		}
		return m
	}
	from, to := room(), room()
	defer to.Release()
	for i := range memory.View[T](from) {
		memory.View[T](from)[i] = T(i & 7)
	}
	column, err := memory.NewColumn(memory.Parts{Type: typ, Len: int64(rows), Buffers: []*memory.Buffer{nil, from}, Place: memory.Host})
	if err != nil {
		b.Fatal(err)
	}
	defer column.Release()
	backend := &kernels.Backend{Device: d, Set: set}
	var sums, copies, leastSum, leastCopy time.Duration
	for b.Loop() {
		begin := time.Now()
		r, err := backend.Scan(b.Context(), s, kernels.CumulativeSum, column, kernels.ScanOptions{})
		if err != nil {
			b.Fatal(err)
		}
		r.Release()
		between := time.Now()
		err = parallel(b.Context(), int64(rows), func(_ int, s span) error {
			copy(memory.View[T](to)[s.from:s.to], memory.View[T](from)[s.from:s.to])
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		sum, copied := between.Sub(begin), time.Since(between)
		if sums += sum; leastSum == 0 || sum < leastSum {
			leastSum = sum
		}
		if copies += copied; leastCopy == 0 || copied < leastCopy {
			leastCopy = copied
		}
	}
	b.ReportMetric(float64(sums.Nanoseconds())/float64(b.N), "ns/op")
	b.ReportMetric(float64(copies.Nanoseconds())/float64(b.N), "copy-ns/op")
	b.ReportMetric(float64(leastSum.Nanoseconds()), "least-ns/op")
	b.ReportMetric(float64(leastCopy)/float64(leastSum), "of-copy")
}
