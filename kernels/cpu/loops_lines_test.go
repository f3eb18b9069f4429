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
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		for _, parts := range []int{1, 2, 5, 64} {
			for n := range maxLoop {
				tryLines[uint32](t, goes, tier, r, mem, parts, n)
				tryLines[uint64](t, goes, tier, r, mem, parts, n)
			}
		}
	})
}

// lineArgs are what a loop of lines takes.
type lineArgs[R row] struct {
	by             []uint16
	words          []uint64
	rows           []R
	places, starts []uint32
	room, toWords  []uint64
	toRows         []R
}

// guarded is a copy of them, slice after slice.
func (a *lineArgs[R]) guarded(mem *guarded) *lineArgs[R] {
	mem.again()
	return &lineArgs[R]{like(mem, a.by), like(mem, a.words), like(mem, a.rows), like(mem, a.places), like(mem, a.starts),
		like(mem, a.room), like(mem, a.toWords), like(mem, a.toRows)}
}

func (a *lineArgs[R]) run(l *loops) (taken int) {
	return linesOf[R](&l.lines)(a.by, a.words, a.rows, a.places, a.starts, a.room, a.toWords, a.toRows)
}

func tryLines[R row](t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded, parts, n int) {
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
	line := lineRows[R]() // in whole lines, so that the first begins one beside unmapped pages on either side
	to := (int(after) + line - 1) / line * line
	want := &lineArgs[R]{by, words, rows, starts, slices.Clone(starts), make([]uint64, parts*roomWords[R]()), make([]uint64, to), make([]R, to)}
	got := want.guarded(mem)
	if taken, wanted := got.run(tier), want.run(goes); taken != wanted {
		t.Fatalf("%d rows of %d in %d parts were taken, not %d", taken, n, parts, wanted)
	}
	same(t, "places", n, got.places, want.places)
	same(t, "starts", n, got.starts, want.starts)
	same(t, "the room", n, got.room, want.room)
	same(t, "words", n, got.toWords, want.toWords)
	same(t, "rows", n, got.toRows, want.toRows)
	for page, bytes := range map[int]int{3: 4 * parts, 5: 8 * len(got.room), 6: 8 * to, 7: len(rawBytes(got.toRows))} {
		mem.intact("lines", bytes, page)
	}
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
