package cpu

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// peakRows are enough for several workers and for every way of many rows.
const peakRows = 1 << 20

// held runs f and checks that at most perRow bytes of device memory a row were held
// at one time above what was held before.
func held(t *testing.T, what string, count *memory.Counted, rows int, perRow float64, f func() error) {
	t.Helper()
	before := count.Stats().Bytes
	count.Reset()
	if err := f(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	peak := float64(count.Stats().Peak-before) / float64(rows)
	if t.Logf("%s: %.1f bytes a row", what, peak); peak > perRow {
		t.Errorf("%s: %.1f bytes a row were held at a time, at most %.1f are to be", what, peak, perRow)
	}
}

// Sorting rows' numbers takes a word and a number a row: the result, and the room
// of one part for each worker.
func TestSortIndicesPeak(t *testing.T) {
	b, s, count := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 31))
	v := make([]int64, peakRows)
	for i := range v {
		v[i] = int64(r.Uint64())
	}
	c := fixedColumn(t, arrow.PrimitiveTypes.Int64, v)
	defer c.Release()
	held(t, "SortIndices", count, peakRows, 8+4+1, func() error {
		rows, err := b.SortIndices(context.Background(), s, []kernels.SortKey{{Values: c}})
		rows.Release()
		return err
	})
}
