package cpu

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// hotRows are keys spread over all of int64 of which a few are many rows'.
func hotRows(name string, n int) []int64 {
	r := rand.New(rand.NewPCG(23, 24))
	zipf := rand.NewZipf(r, 1.1, 1, 999_999)
	keys := make([]int64, n)
	for i := range keys {
		word := uint64(r.IntN(40_000)) + 1
		switch name {
		case "half": // of the rows, the word 0 among them
			word *= uint64(i & 1)
		case "forty":
			if i%3 > 0 {
				word = uint64(i % 40)
			}
		case "late": // not before rows have gone on to parts
			if i > n/4 {
				word %= 3
			}
		case "zipf":
			word = zipf.Uint64()
		}
		keys[i] = int64(word * hashInverse & (1<<62 - 1)) // 0 stays, and a bit is to spare
	}
	return keys
}

// Keys that many rows have are added where they are met, and come out as others do.
func TestTallyHot(t *testing.T) {
	const rows = 400_000
	r := rand.New(rand.NewPCG(25, 26))
	values := make([]float64, rows)
	for i := range values {
		values[i] = float64(i%1013) / 7
	}
	floats := fixedColumn(t, arrow.PrimitiveTypes.Float64, values)
	holes := makeColumn(t, arrow.PrimitiveTypes.Float64, rows, func(i int) kernels.Scalar {
		if r.IntN(3) == 0 {
			return kernels.Null(arrow.PrimitiveTypes.Float64)
		}
		return kernels.Float(arrow.PrimitiveTypes.Float64, values[i])
	})
	for _, name := range []string{"even", "half", "forty", "late", "zipf"} {
		t.Run(name, func(t *testing.T) {
			keys := []*memory.Column{fixedColumn(t, arrow.PrimitiveTypes.Int64, hotRows(name, rows))}
			if found := foundHot(t, keys); found != (name != "even") {
				t.Fatalf("the sample has hot keys: %v", found)
			}
			checkTallies(t, keys, floats, false, true)
			checkTallies(t, keys, holes, false, true)
			checkFirsts(t, keys, wholeInts(t, rows), false, true)
			checkCounts(t, keys)
		})
	}
}

// foundHot says whether a sample of keys shows hot ones.
func foundHot(t *testing.T, keys []*memory.Column) bool {
	t.Helper()
	s, err := onlyGroups(t).NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := newArena(s)
	defer a.free()
	ks, err := newKeyspace(context.Background(), a, keys, false)
	if err != nil {
		t.Fatal(err)
	}
	tally := &tallying[int64]{ks: ks, n: keys[0].Len()}
	_, hot := tally.sampled(sampleWords(ks, tally.n))
	return hot != nil
}

// checkCounts counts the rows of keys, of which there are no values.
func checkCounts(t *testing.T, keys []*memory.Column) {
	t.Helper()
	want := map[int64]int64{}
	for _, k := range memory.Values[int64](keys[0]) {
		want[k]++
	}
	b := onlyGroups(t)
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, any := range []bool{true, false} {
		g, err := b.GroupBy(context.Background(), s, keys, []kernels.Aggregate{{Op: kernels.CountAll}}, kernels.GroupOptions{AnyOrder: any, Keys: true})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Release()
		got := map[int64]int64{}
		counts := memory.Values[int64](g.Values[0])
		for i, k := range memory.Values[int64](g.Keys[0]) {
			got[k] = counts[i]
		}
		if len(counts) != len(want) || !maps.Equal(got, want) {
			t.Fatalf("%d groups, of which %d are distinct, are not the %d there are", len(counts), len(got), len(slices.Collect(maps.Keys(want))))
		}
	}
}
