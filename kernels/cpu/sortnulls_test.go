package cpu

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// nullsRows are so many that half of them are more than one worker sorts.
const nullsRows = 2*bigRows + 12345

// nullsKey is a key of nullsRows, in the middle of a longer column, whose nulls are
// where null says; class orders NaNs, 1, after values, 0, and nulls, 2, after both.
type nullsKey struct {
	name    string
	values  *memory.Column
	class   []uint8
	compare func(i, j int) int // of two values
}

func newNullsKey[T cmp.Ordered](t *testing.T, name string, typ arrow.DataType, at func(i int) T, null func(i int) bool) nullsKey {
	const offset = 13
	v, valid := make([]T, nullsRows+offset+5), make(memory.Bitmap, memory.BitmapBytes(nullsRows+offset+5))
	class := make([]uint8, nullsRows)
	for i := range v {
		v[i] = at(i)
		if valid.Put(int64(i), !null(i)); i >= offset && i-offset < nullsRows {
			switch {
			case null(i):
				class[i-offset] = 2
			case v[i] != v[i]:
				class[i-offset] = 1
			}
		}
	}
	plain := fixedColumn(t, typ, v)
	defer plain.Release()
	whole, err := memory.NewColumn(memory.Parts{Type: typ, Len: plain.Len(), Nulls: -1, Buffers: []*memory.Buffer{memory.Wrap(valid, nil), plain.Buffer(1).Retain()}})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Release()
	c, err := whole.Slice(offset, nullsRows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Release)
	values := v[offset:]
	return nullsKey{name, c, class, func(i, j int) int {
		switch { // -0 is 0
		case values[i] < values[j]:
			return -1
		case values[i] > values[j]:
			return 1
		default:
			return 0
		}
	}}
}

// order is the one stable order of the key's rows.
func (k nullsKey) order(descending, nullsFirst bool) []uint32 {
	rows := make([]uint32, nullsRows)
	for i := range rows {
		rows[i] = uint32(i)
	}
	slices.SortStableFunc(rows, func(a, b uint32) int {
		i, j := int(a), int(b)
		if c := cmp.Compare(k.class[i], k.class[j]); c != 0 {
			if nullsFirst {
				c = -c
			}
			return c
		}
		if k.class[i] != 0 {
			return 0
		}
		if descending {
			i, j = j, i
		}
		return k.compare(i, j)
	})
	return rows
}

// Nulls of one key, few or so many that they are more than a part, stand at their
// end in the order that they had, and what goes with them: in each direction, on
// every tier and number of threads the same bytes.
func TestSortNullsApart(t *testing.T) {
	r := rand.New(rand.NewPCG(testSeed, 41))
	p := arrow.PrimitiveTypes
	half := func(int) bool { return r.IntN(2) == 0 }
	spread := make([]bool, nullsRows+18)
	for i := range spread {
		spread[i] = half(i)
	}
	often := func(i int) bool { return spread[i] }
	seldom := func(i int) bool { return i%1000 == 7 }
	runs := func(i int) bool { return i/5000%2 == 0 }
	garbage := func(null func(int) bool) func(i int) float64 {
		return func(i int) float64 {
			if null(i) {
				return []float64{math.NaN(), math.Copysign(0, -1), math.Inf(-1)}[i%3]
			}
			return r.NormFloat64()
		}
	}
	keys := []nullsKey{
		newNullsKey(t, "all of int64", p.Int64, func(int) int64 { return int64(r.Uint64()) }, often),
		newNullsKey(t, "int64, a few nulls", p.Int64, func(int) int64 { return int64(r.Uint64()) }, seldom),
		newNullsKey(t, "float64 with garbage under nulls", p.Float64, garbage(often), often),
		newNullsKey(t, "float64 with runs of nulls", p.Float64, garbage(runs), runs),
		newNullsKey(t, "float64 with NaN and -0", p.Float64, func(i int) float64 {
			return []float64{math.NaN(), math.Copysign(0, -1), 0, r.NormFloat64(), r.NormFloat64()}[r.IntN(5)]
		}, often),
		newNullsKey(t, "int32", p.Int32, func(int) int32 { return int32(r.Uint32()) }, often),
		newNullsKey(t, "float32", p.Float32, func(int) float32 { return r.Float32() - 0.5 }, often),
		newNullsKey(t, "few values", p.Uint8, func(int) uint8 { return uint8(r.IntN(5)) }, often),
		newNullsKey(t, "one value", p.Int64, func(int) int64 { return 4711 }, often),
		newNullsKey(t, "nothing but nulls", p.Float64, func(int) float64 { return r.Float64() }, func(int) bool { return true }),
		newNullsKey(t, "few that are not", p.Float64, func(int) float64 { return r.Float64() }, func(i int) bool { return i%20000 != 0 }),
		newNullsKey(t, "values that rise", p.Int64, func(i int) int64 { return int64(i) * 1e12 }, often),
	}
	wide, narrow := make([]float64, nullsRows), make([]int32, nullsRows)
	for i := range wide {
		wide[i], narrow[i] = r.NormFloat64(), int32(r.Uint32())
	}
	W, N := fixedColumn(t, p.Float64, wide), fixedColumn(t, p.Int32, narrow)
	defer W.Release()
	defer N.Release()
	ways := []int{0, 1, 2, 3}
	if raceDetector {
		ways = ways[1:2]
	}
	for _, k := range keys {
		for _, way := range ways {
			key := kernels.SortKey{Values: k.values, Descending: way&1 != 0, NullsFirst: way&2 != 0}
			sets := [][]*memory.Column{{k.values, W}, {N, k.values}, {k.values, W, N}, {W}}
			var want []uint32
			if !raceDetector {
				want = k.order(key.Descending, key.NullsFirst)
			}
			sortNullsEverywhere(t, fmt.Sprintf("%s, %v", k.name, key), key, want, sets[way:way+1])
			if way == 0 {
				sortNullsEverywhere(t, k.name+", narrow", key, want, sets[1:3])
			}
		}
	}
}

// sortNullsEverywhere sorts by a key on each tier with several and one thread, the
// rows and sets of columns, and holds them against the wanted order, and against
// each other byte by byte. Under the race detector, which sees no assembly and asks for
// no answers, it sorts by the loops in Go.
func sortNullsEverywhere(t *testing.T, name string, key kernels.SortKey, want []uint32, sets [][]*memory.Column) {
	t.Helper()
	_, s, _ := counted(t)
	ctx := context.Background()
	tiers, all := available()
	first := make([][][]byte, len(sets)) // the bytes of each column
	for at, l := range all {
		for turn, threads := range []int{7, 1} {
			if raceDetector {
				if at > 0 || turn > 0 {
					continue
				}
			} else if at < len(all)-1 && threads != []int{1, 7}[at%2] { // both on the best tier
				continue
			}
			what := fmt.Sprintf("%s: %s, %d threads (seed %d)", name, tiers[at], threads, testSeed)
			old, way := runtime.GOMAXPROCS(threads), *l
			if way.lines.from = 0; turn == at%2 { // by way of lines, or not
				way.lines.from = 1
			}
			l := &way
			rows, err := l.sortIndices(ctx, s, []kernels.SortKey{key})
			if err != nil {
				t.Fatal(err)
			}
			if !raceDetector && !slices.Equal(memory.Values[uint32](rows), want) {
				t.Errorf("%s: not the stable order", what)
			}
			for i, columns := range sets {
				sorted, err := l.sortColumns(ctx, s, []kernels.SortKey{key}, columns)
				if err != nil {
					t.Fatal(err)
				}
				if raceDetector {
					releaseAll(sorted)
					continue
				}
				checkTaken(ctx, t, s, what, columns, sorted, rows)
				var values [][]byte
				for _, c := range sorted {
					values = append(values, bytes.Clone(c.Buffer(1).Bytes()))
					c.Release()
				}
				if first[i] == nil {
					first[i] = values
				}
				for j, v := range values {
					if !bytes.Equal(v, first[i][j]) {
						t.Errorf("%s: column %d has other bytes than of %s", what, j, tiers[0])
					}
				}
			}
			rows.Release()
			runtime.GOMAXPROCS(old)
		}
	}
}

// checkTaken checks that sorted columns are those taken by rows.
func checkTaken(ctx context.Context, t *testing.T, s device.Stream, what string, columns, sorted []*memory.Column, rows *memory.Column) {
	t.Helper()
	for i, c := range columns {
		want, err := plainLoops.takeColumn(ctx, s, c, rows, kernels.TakeOptions{Trusted: true})
		if err != nil {
			t.Fatal(err)
		}
		if !alikeColumns(sorted[i], want) {
			t.Errorf("%s: column %d is not as taken by the order", what, i)
		}
		want.Release()
	}
}

// Sorting a column with nulls and another by it takes the two columns and the
// bits of the nulls, and the room of one part for each worker, however many
// nulls there are.
func TestSortNullsPeak(t *testing.T) {
	b, s, count := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 42))
	v, valid := make([]float64, peakRows), make(memory.Bitmap, memory.BitmapBytes(peakRows))
	for i := range v {
		v[i] = r.NormFloat64()
		valid.Put(int64(i), r.IntN(3) > 0)
	}
	plain := fixedColumn(t, arrow.PrimitiveTypes.Float64, v)
	defer plain.Release()
	c, err := memory.NewColumn(memory.Parts{Type: plain.Type(), Len: peakRows, Nulls: -1, Buffers: []*memory.Buffer{memory.Wrap(valid, nil), plain.Buffer(1).Retain()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	keys := []kernels.SortKey{{Values: c}}
	held(t, "SortColumns", count, peakRows, 8+8+2, func() error {
		sorted, err := b.SortColumns(context.Background(), s, keys, []*memory.Column{c, plain})
		releaseAll(sorted)
		return err
	})
	held(t, "SortIndices", count, peakRows, 8+4+2, func() error {
		rows, err := b.SortIndices(context.Background(), s, keys)
		rows.Release()
		return err
	})
}
