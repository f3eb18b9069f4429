package storage

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// A dictionary is made where values repeat, sorted or not, in one piece or many;
// not where they hardly do.
func TestWorthDictionary(t *testing.T) {
	const rows = 1 << 18
	rng := rand.New(rand.NewPCG(5, 1))
	cases := map[string]struct {
		value func(i int) int64
		want  bool
	}{
		"few values":               {func(int) int64 { return rng.Int64N(100) }, true},
		"60,000 values":            {func(int) int64 { return rng.Int64N(60_000) }, true},
		"sorted, ten times each":   {func(i int) int64 { return int64(i / 10) }, true},
		"each once":                {func(i int) int64 { return int64(i) }, false},
		"more than the limit":      {func(int) int64 { return rng.Int64N(1 << 20) }, false},
		"one value":                {func(int) int64 { return 7 }, true},
		"random":                   {func(int) int64 { return int64(rng.Uint64()) }, false},
		"mostly one, others apart": {func(i int) int64 { return int64(i) * int64(1-min(1, i%10)) }, true},
	}
	for name, c := range cases {
		ints, texts := array.NewInt64Builder(arrowmem.DefaultAllocator), array.NewStringBuilder(arrowmem.DefaultAllocator)
		for i := range rows {
			v := c.value(i)
			ints.Append(v)
			texts.Append(fmt.Sprintf("%08x", v))
		}
		for _, a := range []arrow.Array{ints.NewArray(), texts.NewArray()} {
			whole := worthDictionary([]arrow.Array{a}, rows)
			if whole != c.want {
				t.Errorf("%s as %s: %t", name, a.DataType(), whole)
			}
			var parts []arrow.Array
			for at := int64(0); at < rows; at += 30_000 {
				parts = append(parts, array.NewSlice(a, at, min(at+30_000, rows)))
			}
			if cut := worthDictionary(parts, rows); cut != whole {
				t.Errorf("%s as %s: %t in pieces, %t in one", name, a.DataType(), cut, whole)
			}
		}
	}
	nulls := array.NewInt64Builder(arrowmem.DefaultAllocator)
	for range rows {
		nulls.AppendNull()
	}
	if !worthDictionary([]arrow.Array{nulls.NewArray()}, rows) {
		t.Error("of nulls alone nothing is known")
	}
}
