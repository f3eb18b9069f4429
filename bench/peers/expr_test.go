package peers

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
)

// BenchmarkExpressions prints the processor time of all threads, the least of the
// runs, beside the time: it depends less on what else the machine does.
func BenchmarkExpressions(b *testing.B) {
	const rows = 4_000_000
	d := host.New()
	defer func() {
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	}()
	sets := cpu.Tiers()
	k := &kernels.Backend{Device: d, Set: sets[len(sets)-1]}
	s, err := k.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	f64 := arrow.PrimitiveTypes.Float64
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: f64}, {Name: "b", Type: f64}, {Name: "c", Type: f64}, {Name: "d", Type: f64}, {Name: "e", Type: arrow.FixedWidthTypes.Boolean}}, nil)
	r := rand.New(rand.NewPCG(1, 2))
	columns := make([]*memory.Column, 5)
	for i := range columns {
		t := schema.Field(i).Type
		size := int64(8 * rows)
		if i == 4 {
			size = memory.BitmapBytes(rows)
		}
		values, err := memory.New(d.Memory(), size)
		if err != nil {
			b.Fatal(err)
		}
		if i == 4 {
			for k := range values.Bytes() {
				values.Bytes()[k] = byte(r.Uint32())
			}
		} else {
			for k, v := 0, memory.View[float64](values); k < len(v); k++ {
				v[k] = r.Float64()
			}
		}
		if columns[i], err = memory.NewColumn(memory.Parts{Type: t, Len: rows, Buffers: []*memory.Buffer{nil, values}}); err != nil {
			b.Fatal(err)
		}
		defer columns[i].Release()
	}
	for _, text := range []string{
		"(a * b + c) > d and e",
		"a * b + c > d",
		"(a * b + c) / (d + 1) - a * c",
		"a < 0.1 and b < 0.5 and c < 0.5",
		"case when a < 0.5 then b * 2 else c - d end",
		"sqrt(abs(a - b)) + 1",
	} {
		b.Run("text="+text, func(b *testing.B) {
			e, err := expr.Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			bound, err := e.Bind(schema)
			if err != nil {
				b.Fatal(err)
			}
			least := time.Hour
			for b.Loop() {
				before, err := report.CPUTime()
				if err != nil {
					b.Fatal(err)
				}
				c, err := bound.Eval(context.Background(), k, s, rows, columns)
				if err != nil {
					b.Fatal(err)
				}
				after, err := report.CPUTime()
				if err != nil {
					b.Fatal(err)
				}
				least = min(least, after-before)
				c.Release()
			}
			b.ReportMetric(float64(least.Microseconds())/1000, "cpu-ms/op")
		})
	}
}
