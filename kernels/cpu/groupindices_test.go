package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// indicesOf is a column of n rows of a dictionary of some values by indices of type T, of
// which those are null that nulls says; under a null the index is far beyond.
func indicesOf[T integer](t testing.TB, typ arrow.DataType, values *memory.Column, n int, index func(i int) (at int, null bool)) *memory.Column {
	t.Helper()
	b, err := memory.New(memory.Heap, int64(n*memory.Width(typ)))
	if err != nil {
		t.Fatal(err)
	}
	valid, err := memory.New(memory.Heap, int64(n+7)/8)
	if err != nil {
		t.Fatal(err)
	}
	nulls := int64(0)
	clear(valid.Bytes())
	for i := range n {
		at, null := index(i)
		if null {
			memory.View[T](b)[i] = T(113)
			nulls++
			continue
		}
		memory.View[T](b)[i] = T(at)
		valid.Bytes()[i>>3] |= 1 << (i & 7)
	}
	if nulls == 0 {
		valid.Release()
		valid = nil
	}
	c, err := memory.NewColumn(memory.Parts{Type: &arrow.DictionaryType{IndexType: typ, ValueType: values.Type()}, Len: int64(n), Nulls: nulls,
		Buffers: []*memory.Buffer{valid, b}, Dictionary: values.Retain()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Release)
	return c
}

// checkDecoded groups by a dictionary's column and by its decoded values, in the order of
// first appearance, on every tier.
func checkDecoded(t *testing.T, key, values *memory.Column, drop bool) {
	t.Helper()
	d := host.New()
	t.Cleanup(func() { d.Close() })
	plain := makeColumn(t, key.Dictionary().Type(), int(key.Len()), func(i int) kernels.Scalar { return kernels.ScalarAt(key, int64(i)) })
	aggs := []kernels.Aggregate{{Op: kernels.CountAll}, {Op: kernels.Sum, Values: values}, {Op: kernels.Count, Values: values}}
	for _, set := range Tiers() {
		b := &kernels.Backend{Device: d, Set: set}
		s, err := b.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		o := kernels.GroupOptions{Keys: true, DropNullKeys: drop}
		got, err := b.GroupBy(context.Background(), s, []*memory.Column{key}, aggs, o)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Release()
		if len(got.Keys) != 1 {
			t.Fatal("no keys")
		}
		if err := got.Keys[0].Validate(); err != nil {
			t.Fatal(err)
		}
		o.Keys = false
		want, err := b.GroupBy(context.Background(), s, []*memory.Column{plain}, aggs, o)
		if err != nil {
			t.Fatal(err)
		}
		defer want.Release()
		for i, c := range got.Values {
			if err := kerneltest.Equal(c, want.Values[i], kerneltest.Tolerance{}); err != nil {
				t.Fatalf("%s, aggregate %d: %v", set.Name, i, err)
			}
		}
		for i, row := range memory.Values[uint32](want.First) {
			x, y := kernels.ScalarAt(got.Keys[0], int64(i)), kernels.ScalarAt(plain, int64(row))
			if x.String() != y.String() || x.Valid() != y.Valid() {
				t.Fatalf("%s: group %d is %v, not %v", set.Name, i, x, y)
			}
		}
	}
}

func TestTallyIndices(t *testing.T) {
	const rows = 4001
	ints, typ := wholeInts(t, rows), arrow.BinaryTypes.String
	dictionary := func(n int, twice, nulls bool) *memory.Column {
		return makeColumn(t, typ, n, func(i int) kernels.Scalar {
			if twice {
				i -= i % 3
			}
			if nulls && i%7 == 0 {
				return kernels.Null(typ)
			}
			return kernels.Text(typ, fmt.Sprint("value ", i))
		})
	}
	kinds := []struct {
		typ  arrow.DataType
		n    int
		make func(testing.TB, arrow.DataType, *memory.Column, int, func(int) (int, bool)) *memory.Column
	}{
		{arrow.PrimitiveTypes.Int8, 128, indicesOf[int8]}, {arrow.PrimitiveTypes.Uint8, 256, indicesOf[uint8]},
		{arrow.PrimitiveTypes.Int16, 3000, indicesOf[int16]}, {arrow.PrimitiveTypes.Uint16, 20_000, indicesOf[uint16]},
		{arrow.PrimitiveTypes.Int32, 900, indicesOf[int32]}, {arrow.PrimitiveTypes.Uint32, 30_000, indicesOf[uint32]},
		{arrow.PrimitiveTypes.Int64, 12, indicesOf[int64]}, {arrow.PrimitiveTypes.Uint64, 5000, indicesOf[uint64]},
	}
	for _, kind := range kinds {
		for shape := range 8 {
			if raceDetector && shape != kind.n%8 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", kind.typ, shape), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(kind.n), uint64(shape)))
				of := dictionary(kind.n, shape&1 != 0, shape&2 != 0)
				key := kind.make(t, kind.typ, of, rows, func(int) (int, bool) { return r.IntN(kind.n), shape&4 != 0 && r.IntN(5) == 0 })
				drop := r.IntN(2) == 0
				checkTallies(t, []*memory.Column{key}, ints, drop, true)
				checkDecoded(t, key, ints, !drop)
				checkDecoded(t, key, ints, drop)
				part, err := key.Slice(77, 3000)
				if err != nil {
					t.Fatal(err)
				}
				defer part.Release()
				values, err := ints.Slice(1, 3000)
				if err != nil {
					t.Fatal(err)
				}
				defer values.Release()
				checkTallies(t, []*memory.Column{part, values}, values, false, true)
			})
		}
	}
	none := dictionary(0, false, false)
	checkTallies(t, []*memory.Column{indicesOf[int16](t, arrow.PrimitiveTypes.Int16, none, rows, func(int) (int, bool) { return 0, true })}, ints, false, true)
}

// An index beyond the dictionary is an error, and no key.
func TestTallyIndexBeyond(t *testing.T) {
	of := makeColumn(t, arrow.BinaryTypes.String, 9, func(i int) kernels.Scalar { return kernels.Text(arrow.BinaryTypes.String, fmt.Sprint(i)) })
	key := indicesOf[uint8](t, arrow.PrimitiveTypes.Uint8, of, 5000, func(i int) (int, bool) { return i / 500, false })
	b := onlyGroups(t)
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if g, err := b.GroupBy(context.Background(), s, []*memory.Column{key}, []kernels.Aggregate{{Op: kernels.CountAll}}, kernels.GroupOptions{Keys: true}); err == nil {
		t.Fatalf("%d groups", g.Len())
	}
}
