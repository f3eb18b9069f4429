package cpu_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
)

// BenchmarkTakeColumns takes 10^7 rows by int64 indices, random and sorted, out of
// columns that caches hold and that they do not, on each tier.
func BenchmarkTakeColumns(b *testing.B) {
	const taken = 10_000_000
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64}
	for _, rows := range []int64{100_000, 10_000_000} {
		for _, order := range []string{"random", "sorted"} {
			r := rand.New(rand.NewPCG(1, uint64(rows)))
			at := make([]int64, taken)
			for i := range at {
				at[i] = r.Int64N(rows)
			}
			if order == "sorted" {
				slices.Sort(at)
			}
			indices := plainColumn(b, arrow.PrimitiveTypes.Int64, at)
			for _, t := range types {
				width := int64(memory.Width(t))
				values := plainColumn(b, t, make([]uint32, rows*width/4))
				for _, set := range cpu.Tiers() {
					b.Run(fmt.Sprintf("rows=%d/order=%s/type=%s/tier=%s", rows, order, t, set.Name), func(b *testing.B) {
						benchTakeColumn(b, backend(b, set), values, indices)
					})
				}
			}
		}
	}
}

func benchTakeColumn(b *testing.B, e *kernels.Backend, values, indices *memory.Column) {
	s, err := e.Device.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	b.SetBytes(indices.Len() * int64(8+memory.Width(values.Type())))
	for b.Loop() {
		c, err := e.Set.Take.Func(context.Background(), s, values, indices, kernels.TakeOptions{})
		if err != nil {
			b.Fatal(err)
		}
		c.Release()
	}
}

// plainColumn is a column of t with no nulls that has the bytes of v.
func plainColumn[T any](b *testing.B, t arrow.DataType, v []T) *memory.Column {
	b.Helper()
	var one T
	values, err := memory.New(memory.Heap, int64(len(v))*int64(unsafe.Sizeof(one)))
	if err != nil {
		b.Fatal(err)
	}
	copy(memory.View[T](values), v)
	c, err := memory.NewColumn(memory.Parts{Type: t, Len: values.Len() / int64(memory.Width(t)), Buffers: []*memory.Buffer{nil, values}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Release)
	return c
}
