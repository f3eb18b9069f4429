package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// BenchmarkTextNulls groups and joins by 1e5 texts of 10 bytes, of whose rows some
// are null: processor time of all threads a row.
func BenchmarkTextNulls(b *testing.B) {
	for _, rows := range []int{1_000_000, 5_000_000} {
		b.Run(fmt.Sprint("rows=", rows), func(b *testing.B) { benchmarkTextNulls(b, rows) })
	}
}

func benchmarkTextNulls(b *testing.B, rows int) {
	const groups = 100_000
	r := rand.New(rand.NewPCG(3, 4))
	typ := arrow.BinaryTypes.String
	text := func(i int) kernels.Scalar { return kernels.Text(typ, fmt.Sprintf("key_%06d", i)) }
	right := makeColumn(b, typ, groups, text)
	d := host.New()
	x := &kernels.Backend{Device: d, Set: Tiers()[len(Tiers())-1]}
	s, err := x.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	}()
	made := make([]int64, rows)
	for i := range made {
		made[i] = int64(i)
	}
	values, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: int64(rows), Buffers: []*memory.Buffer{nil, memory.Wrap(rawBytes(made), nil)}})
	if err != nil {
		b.Fatal(err)
	}
	defer values.Release()
	for _, nulls := range []int{0, 30} {
		keys := makeColumn(b, typ, rows, func(int) kernels.Scalar {
			if k := r.IntN(groups); r.IntN(100) >= nulls {
				return text(k)
			}
			return kernels.Null(typ)
		})
		groupBy := func(o kernels.GroupOptions, aggs ...kernels.Aggregate) func() error {
			return func() error {
				g, err := x.GroupBy(b.Context(), s, []*memory.Column{keys}, aggs, o)
				if err == nil {
					g.Release()
				}
				return err
			}
		}
		sum := kernels.Aggregate{Op: kernels.Sum, Values: values}
		for _, op := range []struct {
			name string
			run  func() error
		}{
			{"group", groupBy(kernels.GroupOptions{Keys: true, AnyOrder: true}, sum)},
			{"group_ordered", groupBy(kernels.GroupOptions{Keys: true}, sum)},
			{"group_rows", groupBy(kernels.GroupOptions{}, sum)},
			{"distinct", groupBy(kernels.GroupOptions{Keys: true, AnyOrder: true})},
			{"unique", func() error {
				c, err := x.Unique(b.Context(), s, []*memory.Column{keys}, kernels.GroupOptions{})
				if err == nil {
					c.Release()
				}
				return err
			}},
			{"join", func() error {
				t, err := x.JoinBuild(b.Context(), s, []*memory.Column{right}, kernels.JoinOptions{})
				if err != nil {
					return err
				}
				defer t.Release()
				p, err := t.Probe(b.Context(), s, []*memory.Column{keys}, kernels.InnerJoin, kernels.JoinOptions{})
				if err == nil {
					p.Release()
				}
				return err
			}},
		} {
			b.Run(fmt.Sprintf("op=%s/nulls=%d", op.name, nulls), func(b *testing.B) {
				from := processorTime()
				for b.Loop() {
					if err := op.run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(processorTime()-from)/float64(b.N)/float64(rows), "cpu-ns/row")
			})
		}
	}
}
