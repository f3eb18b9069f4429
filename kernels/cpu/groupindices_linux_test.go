package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// processorTime is what the process has used of the processors, in ns.
func processorTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkGroupIndices(b *testing.B) {
	const rows, groups = 5_000_000, 100_000
	r := rand.New(rand.NewPCG(3, 4))
	of := makeColumn(b, arrow.BinaryTypes.String, groups, func(i int) kernels.Scalar { return kernels.Text(arrow.BinaryTypes.String, fmt.Sprintf("key_%06d", i)) })
	numbers := make([]int64, rows)
	for i := range numbers {
		numbers[i] = r.Int64N(groups)
	}
	at := func(i int) (int, bool) { return int(numbers[i]), false }
	ints := indicesOf[int64](b, arrow.PrimitiveTypes.Int64, of, rows, at)
	plain, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: rows, Buffers: []*memory.Buffer{nil, ints.Buffer(1).Retain()}})
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Release()
	keys := map[string]*memory.Column{"int64": plain, "dictionary_int64": ints,
		"dictionary_int32":  indicesOf[int32](b, arrow.PrimitiveTypes.Int32, of, rows, at),
		"dictionary_uint16": indicesOf[uint16](b, arrow.PrimitiveTypes.Uint16, of, rows, func(i int) (int, bool) { return int(numbers[i] & 0xffff), false }),
	}
	x := onlyGroups(b)
	s, err := x.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for _, order := range []string{"any", "first"} {
		for _, key := range []string{"int64", "dictionary_int64", "dictionary_int32", "dictionary_uint16"} {
			b.Run(fmt.Sprintf("key=%s/order=%s", key, order), func(b *testing.B) {
				from := processorTime()
				for b.Loop() {
					g, err := x.GroupBy(context.Background(), s, []*memory.Column{keys[key]}, []kernels.Aggregate{{Op: kernels.CountAll},
						{Op: kernels.Sum, Values: plain}}, kernels.GroupOptions{Keys: true, AnyOrder: order == "any"})
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
