package cpu

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Lines are filled and moved as by the loop in Go, and no row is written that is
// not of them.
func TestLineLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, _ *guarded) {
		for _, parts := range []int{1, 2, 5, 64} {
			for n := range maxLoop {
				tryLines[uint32](t, goes, tier, r, parts, n)
				tryLines[uint64](t, goes, tier, r, parts, n)
			}
		}
	})
}

func tryLines[R row](t *testing.T, goes, tier *loops, r *rand.Rand, parts, n int) {
	t.Helper()
	by, words, rows := make([]uint16, n), make([]uint64, n), make([]R, n)
	counts := make([]uint32, parts)
	for i := range by {
		by[i], words[i], rows[i] = uint16(r.IntN(parts)), r.Uint64(), R(r.Uint64())
		counts[by[i]]++
	}
	after := uint32(r.IntN(40))
	starts := make([]uint32, parts)
	for p, k := range counts {
		starts[p] = after
		after += k + uint32(r.IntN(3)) // of another piece
	}
	type result struct {
		taken          int
		places         []uint32
		words, toWords []uint64
		toRows         []R
	}
	run := func(l *loops) result {
		room, toWords, toRows := aligned[uint64](t, parts*roomWords[R]()), aligned[uint64](t, int(after)+16), aligned[R](t, int(after)+16)
		places := slices.Clone(starts)
		taken := linesOf[R](&l.lines)(by, words, rows, places, starts, room, toWords, toRows)
		return result{taken, places, room, toWords, toRows}
	}
	want, got := run(goes), run(tier)
	if got.taken != want.taken {
		t.Fatalf("%d rows of %d in %d parts were taken, not %d", got.taken, n, parts, want.taken)
	}
	same(t, "places", n, got.places, want.places)
	same(t, "the room", n, got.words, want.words)
	same(t, "words", n, got.toWords, want.toWords)
	same(t, "rows", n, got.toRows, want.toRows)
}

// aligned is memory of 0 that begins a line.
func aligned[T any](t *testing.T, n int) []T {
	var v T
	b, err := memory.NewZeroed(memory.Heap, int64(n)*int64(len(rawBytes([]T{v}))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Release)
	return memory.View[T](b)
}

// By way of lines columns are sorted as without them, on each tier, whatever the
// keys, how they are cut and what goes with them.
func TestSortByLines(t *testing.T) {
	_, s, _ := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 43))
	shapes := append(sortShapes(t, r)[:10], intShape(t, "few", func(int) int64 { return r.Int64N(1000) - 3 }))
	wide, narrow := make([]float64, shapeRows), make([]int32, shapeRows)
	for i := range wide {
		wide[i], narrow[i] = r.NormFloat64(), int32(r.Uint32())
	}
	W, N := fixedColumn(t, arrow.PrimitiveTypes.Float64, wide), fixedColumn(t, arrow.PrimitiveTypes.Int32, narrow)
	defer W.Release()
	defer N.Release()
	few := shapes[len(shapes)-1].key
	_, all := available()
	for i, x := range shapes {
		defer x.key.Values.Release()
		k := x.key.Values
		for way, c := range []struct {
			keys    []kernels.SortKey
			columns []*memory.Column
		}{
			{[]kernels.SortKey{x.key}, []*memory.Column{k, W}},
			{[]kernels.SortKey{x.key}, []*memory.Column{N, k}},
			{[]kernels.SortKey{x.key}, []*memory.Column{W, N}},
			{[]kernels.SortKey{few, x.key}, []*memory.Column{k, W, few.Values}},
		} {
			var want [][]byte
			for at, l := range all {
				for _, from := range []int{0, 1} {
					if from == 0 && at > 0 || raceDetector && (at > 0 || way != i%4) { // which sees no assembly
						continue
					}
					by := *l
					by.lines.from = from
					old := runtime.GOMAXPROCS(1 + (at+i)%3)
					sorted, err := by.sortColumns(context.Background(), s, c.keys, c.columns)
					runtime.GOMAXPROCS(old)
					if err != nil {
						t.Fatal(err)
					}
					for j, column := range sorted {
						if b := column.Buffer(1).Bytes(); from == 0 {
							want = append(want, bytes.Clone(b))
						} else if !bytes.Equal(b, want[j]) {
							t.Errorf("%s, %d keys, column %d, tier %d (seed %d): other bytes by way of lines", x.name, len(c.keys), j, at, testSeed)
						}
						column.Release()
					}
				}
			}
		}
	}
}
