package dataloader

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/table"
)

const (
	benchRows    = 1_000_000
	benchColumns = 32
	benchBatch   = 4096
)

// BenchmarkEpoch is one shuffled epoch of a million rows of 32 float32 as
// row-major batches of 4096, beside plain loops on one processor that gather the
// same batches whole: from=rows from a row-major matrix that is there already, and
// from=columns from columns, as the loader has them to start with. Throughput is
// that of the bytes of the batches.
func BenchmarkEpoch(b *testing.B) {
	backend, _ := onHost(b)
	t := numbers(b, backend, benchRows, benchColumns)
	b.Run("from=rows", func(b *testing.B) {
		matrix := make([]float32, benchRows*benchColumns)
		for i := range matrix {
			matrix[i] = float32(i)
		}
		gatherAll(b, func(to []float32, rows []int) {
			for i, r := range rows {
				copy(to[i*benchColumns:(i+1)*benchColumns], matrix[r*benchColumns:(r+1)*benchColumns])
			}
		})
	})
	b.Run("from=columns", func(b *testing.B) {
		columns := make([][]float32, benchColumns)
		for c := range columns {
			columns[c] = make([]float32, benchRows)
			for i := range columns[c] {
				columns[c][i] = float32(i)
			}
		}
		gatherAll(b, func(to []float32, rows []int) {
			for i, r := range rows {
				for c, from := range columns {
					to[i*benchColumns+c] = from[r]
				}
			}
		})
	})
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("from=taken/workers=%d", workers), func(b *testing.B) {
			epoch(b, TakeTable(t.Retain()), Options{Batch: benchBatch, Shuffle: true, Seed: 7, Workers: workers})
		})
	}
	for _, spare := range []int64{-1, 50, 128} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("from=table/spare=%dMiB/workers=%d", max(0, spare), workers), func(b *testing.B) {
				epoch(b, FromTable(t), Options{Batch: benchBatch, Shuffle: true, Seed: 7, Workers: workers, Spare: spare << 20})
			})
		}
	}
}

// epoch times epochs of a loader.
func epoch(b *testing.B, s Source, o Options) {
	l := load(b, s, o)
	b.SetBytes(4 * benchRows * benchColumns)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range l.Batches(ctx) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// gatherAll times an epoch of a gather into one batch after the other, in an
// order that is stored.
func gatherAll(b *testing.B, gather func(to []float32, rows []int)) {
	order, to := rand.New(rand.NewPCG(7, 7)).Perm(benchRows), make([]float32, benchBatch*benchColumns)
	b.SetBytes(4 * benchRows * benchColumns)
	for b.Loop() {
		for rest := order; len(rest) > 0; {
			n := min(benchBatch, len(rest))
			gather(to, rest[:n])
			rest = rest[n:]
		}
	}
}

// BenchmarkPermutation is the computing of one position.
func BenchmarkPermutation(b *testing.B) {
	p, to := order.NewPermutation(benchRows, 7, 0), make([]int64, benchBatch)
	b.SetBytes(8 * benchBatch)
	for b.Loop() {
		p.Fill(to, 12_345)
	}
}

// BenchmarkLayout lays out a million rows of 13 columns of mixed types, as flights
// have them, and of 32 float32.
func BenchmarkLayout(b *testing.B) {
	backend, _ := onHost(b)
	mixed := made(b, backend,
		sequence[int64](b, "row"), sequence[int32](b, "date"), sequence[int8](b, "hour"), sequence[int8](b, "weekday"), sequence[float64](b, "distance"),
		sequence[int32](b, "origin"), sequence[int32](b, "destination"), sequence[float64](b, "latitude"), sequence[float64](b, "longitude"),
		sequence[float64](b, "to latitude"), sequence[float64](b, "to longitude"), sequence[int16](b, "late"), sequence[int64](b, "delay"))
	for name, t := range map[string]*table.Table{"mixed": mixed, "float32": numbers(b, backend, benchRows, benchColumns)} {
		b.Run("columns="+name, func(b *testing.B) {
			l := load(b, FromTable(t), Options{Batch: benchBatch, Shuffle: true, Seed: 7, Workers: InCaller, Spare: 128 << 20})
			r := l.reader.(*tableReader)
			p := &r.parts[0]
			b.SetBytes(p.tile.buffer.Len())
			for b.Loop() {
				if err := r.fill(ctx, p.tile, p, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// sequence is a column of benchRows numbers.
func sequence[T Element](b *testing.B, name string) table.Series {
	b.Helper()
	v := make([]T, benchRows)
	for i := range v {
		v[i] = T(i % 100)
	}
	return table.Column(name, v)
}
