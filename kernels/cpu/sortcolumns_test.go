package cpu

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// alikeColumns reports whether two columns have the same values, bit by bit, and
// nulls; no two of them need the same garbage under these.
func alikeColumns(a, b *memory.Column) bool {
	if a.Len() != b.Len() || a.NullCount() != b.NullCount() {
		return false
	}
	if a.NullCount() > 0 && !slices.Equal(whichNulls(a), whichNulls(b)) {
		return false
	}
	switch t := a.Type(); {
	case t.ID() == arrow.DICTIONARY && memory.Width(t) == 2:
		return alikeValues[uint16](a, b) && alikeColumns(a.Dictionary(), b.Dictionary())
	case memory.LayoutOf(t) == memory.LayoutFixed && memory.Width(t) == 8:
		return alikeValues[uint64](a, b)
	case memory.LayoutOf(t) == memory.LayoutFixed && memory.Width(t) == 4:
		return alikeValues[uint32](a, b)
	case memory.LayoutOf(t) == memory.LayoutFixed && memory.Width(t) == 1:
		return alikeValues[uint8](a, b)
	case t.ID() != arrow.STRING && t.ID() != arrow.BINARY:
		return kerneltest.Equal(a, b, kerneltest.Tolerance{}) == nil
	default:
		x, y := textsOf[int32](a), textsOf[int32](b)
		if slices.Equal(x.offsets, y.offsets) && bytes.Equal(x.data, y.data) {
			return true
		}
		for i := range a.Len() {
			if string(x.at(i)) != string(y.at(i)) {
				return false
			}
		}
		return true
	}
}

// whichNulls has a bit for each row: whether it is not null. There are buffers wherever a column has nulls.
func whichNulls(c *memory.Column) []uint64 {
	words := make([]uint64, 0, c.Len()/64+1)
	for from := int64(0); from < c.Len(); from += 64 {
		words = append(words, memory.Bitmap(c.Buffer(0).Bytes()).Word(c.Offset()+from, min(64, c.Len()-from)))
	}
	return words
}

func alikeValues[T comparable](a, b *memory.Column) bool {
	x, y := memory.Values[T](a), memory.Values[T](b)
	if alike := slices.Equal(x, y); alike || a.NullCount() == 0 {
		return alike
	}
	for i := range x {
		if x[i] != y[i] && !a.IsNull(int64(i)) {
			return false
		}
	}
	return true
}

// Columns sorted with their keys are those that are taken by the keys' order,
// whatever the keys, their order and what goes with them.
func TestSortColumns(t *testing.T) {
	b, s, _ := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 9))
	shapes := sortShapes(t, r)
	null := func(i int) bool { return i%7 == 3 }
	shapes = append(shapes,
		floatShape(t, "floats that are back", func(int) float64 { return math.Ldexp(r.Float64()-0.3, r.IntN(9)) }, func(int) bool { return false }),
		floatShape(t, "floats and nulls", func(int) float64 { return r.NormFloat64() }, null),
		floatShape(t, "floats and more nulls than one worker sorts", func(int) float64 { return r.NormFloat64() }, func(i int) bool { return i%2 == 1 }),
		intShape(t, "a byte's", func(int) int64 { return r.Int64N(200) - 100 }))
	if most := shapes[len(shapes)-2].key.Values; most.NullCount() <= bigRows {
		t.Fatalf("%d nulls are sorted by one worker", most.NullCount())
	}
	retype := func(typ arrow.DataType) *memory.Column {
		v := make([]uint64, shapeRows*memory.Width(typ)/8+1)
		for i := range v {
			v[i] = r.Uint64() & 0x7f7fffff7f7fffff // no NaN
		}
		words := fixedColumn(t, arrow.PrimitiveTypes.Uint64, v)
		defer words.Release()
		c, err := memory.NewColumn(memory.Parts{Type: typ, Len: shapeRows, Buffers: []*memory.Buffer{nil, words.Buffer(1).Retain()}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	p := arrow.PrimitiveTypes
	for _, typ := range []arrow.DataType{p.Int8, p.Int32, p.Uint32, p.Uint64, p.Float32, p.Float64} {
		shapes = append(shapes, shape{typ.Name(), kernels.SortKey{Values: retype(typ)}, nil})
	}
	wide, narrow, short, text, holes := retype(p.Float64), retype(p.Int32), retype(p.Uint8), shapes[12].key.Values, shapes[10].key.Values
	few := intShape(t, "few", func(int) int64 { return r.Int64N(1000) - 3 })
	defer func() {
		for _, x := range append(shapes, few) {
			x.key.Values.Release()
		}
		for _, c := range []*memory.Column{wide, narrow, short} {
			c.Release()
		}
	}()
	for i, x := range shapes {
		key := x.key
		key.Descending, key.NullsFirst = i&1 != 0, i&2 != 0
		flipped := key
		flipped.Descending, flipped.NullsFirst = !key.Descending, !key.NullsFirst
		k := key.Values
		for at, c := range []struct {
			keys    []kernels.SortKey
			columns []*memory.Column
		}{
			{[]kernels.SortKey{key}, []*memory.Column{k, wide}},
			{[]kernels.SortKey{flipped}, []*memory.Column{narrow, k}},
			{[]kernels.SortKey{key}, []*memory.Column{k, short, holes, k}},
			{[]kernels.SortKey{flipped}, []*memory.Column{k}},
			{[]kernels.SortKey{few.key, key}, []*memory.Column{few.key.Values, k, wide}},
			{[]kernels.SortKey{few.key, flipped}, []*memory.Column{k, few.key.Values, text}},
			{[]kernels.SortKey{key, few.key}, []*memory.Column{few.key.Values, k, narrow}},
		} {
			if at != i%7 && (raceDetector || at != (i+4)%7) { // two of them: each comes with many shapes
				continue
			}
			if raceDetector { // it asks whether workers meet, not for answers
				old := runtime.GOMAXPROCS(7)
				got, err := b.SortColumns(context.Background(), s, c.keys, c.columns)
				runtime.GOMAXPROCS(old)
				if err != nil {
					t.Fatal(err)
				}
				releaseAll(got)
				continue
			}
			rows, err := b.SortIndices(context.Background(), s, c.keys)
			if err != nil {
				t.Fatal(err)
			}
			want, err := b.TakeColumns(context.Background(), s, c.columns, rows)
			if err != nil {
				t.Fatal(err)
			}
			rows.Release()
			for _, threads := range []int{7, 1} {
				old := runtime.GOMAXPROCS(threads)
				got, err := b.SortColumns(context.Background(), s, c.keys, c.columns)
				runtime.GOMAXPROCS(old)
				if err != nil {
					t.Fatal(err)
				}
				for j := range want {
					if !alikeColumns(got[j], want[j]) {
						t.Errorf("%s, %d keys, column %d, %d threads (seed %d): not as taken by the order", x.name, len(c.keys), j, threads, testSeed)
					}
					got[j].Release()
				}
			}
			for _, w := range want {
				w.Release()
			}
		}
	}
}
