package cpu

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// shapeRows are enough that half of them are sorted on all workers.
const shapeRows = 2*bigRows + 3*morsel/2 + 11

// shape is a sort key, and how its rows compare by plain Go.
type shape struct {
	name    string
	key     kernels.SortKey
	compare func(i, j int) int
}

func intShape(t *testing.T, name string, at func(i int) int64) shape {
	v := make([]int64, shapeRows)
	for i := range v {
		v[i] = at(i)
	}
	return shape{name, kernels.SortKey{Values: fixedColumn(t, arrow.PrimitiveTypes.Int64, v)}, func(i, j int) int { return cmp.Compare(v[i], v[j]) }}
}

// floatShape has a null where null says so. Nulls are last and NaNs before them.
func floatShape(t *testing.T, name string, at func(i int) float64, null func(i int) bool) shape {
	v, valid := make([]float64, shapeRows), make([]byte, memory.BitmapBytes(shapeRows))
	class := make([]uint8, shapeRows)
	for i := range v {
		v[i] = at(i)
		switch {
		case null(i):
			class[i] = 2
			continue
		case v[i] != v[i]:
			class[i] = 1
		}
		memory.Bitmap(valid).Set(int64(i))
	}
	nulls := int64(0)
	for _, c := range class {
		nulls += int64(c / 2)
	}
	plain := fixedColumn(t, arrow.PrimitiveTypes.Float64, v)
	defer plain.Release()
	c, err := memory.NewColumn(memory.Parts{Type: plain.Type(), Len: shapeRows, Nulls: nulls, Buffers: []*memory.Buffer{memory.Wrap(valid, nil), plain.Buffer(1).Retain()}})
	if err != nil {
		t.Fatal(err)
	}
	return shape{name, kernels.SortKey{Values: c}, func(i, j int) int {
		if class[i]|class[j] != 0 {
			return cmp.Compare(class[i], class[j])
		}
		return cmp.Compare(v[i]+0, v[j]+0)
	}}
}

func textShape(t *testing.T, name string, at func(i int) string) shape {
	v, offsets := make([]string, shapeRows), make([]int32, shapeRows+1)
	for i := range v {
		v[i] = at(i)
		offsets[i+1] = offsets[i] + int32(len(v[i]))
	}
	ends, err := memory.New(memory.Heap, int64(4*len(offsets)))
	if err != nil {
		t.Fatal(err)
	}
	copy(memory.View[int32](ends), offsets)
	c, err := memory.NewColumn(memory.Parts{Type: arrow.BinaryTypes.String, Len: shapeRows,
		Buffers: []*memory.Buffer{nil, ends, memory.Wrap([]byte(strings.Join(v, "")), nil)}})
	if err != nil {
		t.Fatal(err)
	}
	return shape{name, kernels.SortKey{Values: c}, func(i, j int) int { return strings.Compare(v[i], v[j]) }}
}

// sortShapes are keys that take each way through the sort: cut evenly or by a
// table, parts that are big, that are equal throughout, that only late bits
// tell apart.
func sortShapes(t *testing.T, r *rand.Rand) []shape {
	never := func(int) bool { return false }
	return []shape{
		intShape(t, "all bits", func(int) int64 { return int64(r.Uint64()) }),
		intShape(t, "dense", func(int) int64 { return r.Int64N(shapeRows) }),
		intShape(t, "few", func(int) int64 { return r.Int64N(5) * 1e15 }),
		intShape(t, "rising but once", func(i int) int64 { return int64(i ^ i/7777&1) }),
		intShape(t, "falling but once", func(i int) int64 { return int64(-i ^ i/7777&1) }),
		intShape(t, "a big part", func(i int) int64 { // whose words differ in their last bits, under far ones
			if i%16 == 0 {
				return int64(r.Uint64() >> 1)
			}
			return r.Int64N(1 << 20)
		}),
		intShape(t, "a big equal part", func(i int) int64 {
			if i%8 == 0 {
				return int64(r.Uint64())
			}
			return 4711
		}),
		intShape(t, "powers", func(int) int64 { return int64(r.Uint64() >> r.UintN(64)) }),
		intShape(t, "late bits", func(i int) int64 { return r.Int64N(3)<<60 | r.Int64N(2)<<33 | r.Int64N(3) }),
		floatShape(t, "normal", func(int) float64 { return r.NormFloat64() }, never),
		floatShape(t, "specials", func(i int) float64 {
			return []float64{math.NaN(), math.Copysign(0, -1), 0, math.Inf(1), math.Inf(-1), r.Float64() - 0.5}[r.IntN(6)]
		}, func(int) bool { return r.IntN(3) == 0 }),
		floatShape(t, "nulls", func(int) float64 { return r.Float64() }, func(int) bool { return true }),
		textShape(t, "texts", func(int) string { return fmt.Sprintf("%08x", r.Uint32())[:r.IntN(6)] }),
		textShape(t, "texts of one start", func(int) string { return fmt.Sprintf("the same start %d", r.IntN(shapeRows)) }),
	}
}

// Every way through the sort gives the one stable order, on any number of
// threads, alone and with another key before or after. Under the race detector,
// which asks whether workers meet and not for answers, 7 threads are enough.
func TestSortShapes(t *testing.T) {
	b, s, _ := counted(t)
	all := sortShapes(t, rand.New(rand.NewPCG(testSeed, 7)))
	defer func() {
		for _, x := range all {
			x.key.Values.Release()
		}
	}()
	for i, x := range all {
		for _, keys := range [][]shape{{x}, {all[(i+2)%len(all)], x}} {
			var sortKeys []kernels.SortKey
			for _, k := range keys {
				sortKeys = append(sortKeys, k.key)
			}
			for _, threads := range []int{7, 2, 1} {
				old := runtime.GOMAXPROCS(threads)
				rows, err := b.SortIndices(context.Background(), s, sortKeys)
				runtime.GOMAXPROCS(old)
				if err != nil {
					t.Fatal(err)
				}
				if raceDetector {
					rows.Release()
					break
				}
				if err := stableOrder(memory.Values[uint32](rows), keys); err != nil {
					t.Errorf("%s, %d keys, %d threads (seed %d): %v", x.name, len(keys), threads, testSeed, err)
				}
				rows.Release()
			}
		}
	}
}

// stableOrder checks that rows are all of those of the shapes, and in the one
// stable order: each comes after the one before, or is equal and greater.
func stableOrder(rows []uint32, keys []shape) error {
	seen := make([]bool, shapeRows)
	for i, r := range rows {
		if seen[r] {
			return fmt.Errorf("row %d comes twice", r)
		}
		seen[r] = true
		if i == 0 {
			continue
		}
		c := 0
		for k := 0; c == 0 && k < len(keys); k++ {
			c = keys[k].compare(int(rows[i-1]), int(r))
		}
		if c > 0 || c == 0 && rows[i-1] > r {
			return fmt.Errorf("place %d has row %d after row %d", i, r, rows[i-1])
		}
	}
	if len(rows) != shapeRows {
		return fmt.Errorf("%d rows of %d", len(rows), shapeRows)
	}
	return nil
}

// The first rows of any order are those of the whole order, in every direction,
// also where the greatest that is kept is a NaN.
func TestTopKShapes(t *testing.T) {
	b, s, _ := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 8))
	all := append(sortShapes(t, r), floatShape(t, "few numbers", func(i int) float64 {
		if i%5000 == 0 {
			return r.NormFloat64()
		}
		return math.NaN()
	}, func(int) bool { return false }))
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32} {
		v := make([]uint64, shapeRows*memory.Width(typ)/8+1)
		for i := range v {
			v[i] = r.Uint64()
		}
		words := fixedColumn(t, arrow.PrimitiveTypes.Uint64, v)
		c, err := memory.NewColumn(memory.Parts{Type: typ, Len: shapeRows, Buffers: []*memory.Buffer{nil, words.Buffer(1).Retain()}})
		if err != nil {
			t.Fatal(err)
		}
		words.Release()
		all = append(all, shape{typ.Name(), kernels.SortKey{Values: c}, nil})
	}
	for at, x := range all {
		for way := range 4 {
			if raceDetector && way != at%4 { // orders differ in their words only, goroutines do not
				continue
			}
			key := kernels.SortKey{Values: x.key.Values, Descending: way&1 != 0, NullsFirst: way&2 != 0}
			rows, err := b.SortIndices(context.Background(), s, []kernels.SortKey{key})
			if err != nil {
				t.Fatal(err)
			}
			want := memory.Values[uint32](rows)
			for _, k := range []int64{1, 100, 5000} {
				for _, threads := range []int{1, 2, 7} {
					if raceDetector && threads < 7 {
						continue
					}
					old := runtime.GOMAXPROCS(threads)
					first, err := b.TopK(context.Background(), s, []kernels.SortKey{key}, k)
					runtime.GOMAXPROCS(old)
					if err != nil {
						t.Fatal(err)
					}
					if got := memory.Values[uint32](first); !slices.Equal(got, want[:k]) {
						t.Errorf("%s, %s, k=%d, %d threads (seed %d): not the first rows", x.name, key, k, threads, testSeed)
					}
					first.Release()
				}
			}
			rows.Release()
		}
		x.key.Values.Release()
	}
}
