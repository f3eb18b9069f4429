package cpu

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Here grouping, joins and sorts give the same bits on every tier with 1, 2 and 7 threads. The
// ways that they take are chosen by rows, by distinct keys, by the
// second-level cache and by workers. Tables of a benchmark's shape take few of them at
// a size that a test has time for; the shapes that other tests have for each way take
// them all. Under the race detector, which sees no assembly and asks for no answers,
// each runs once, on the tier in Go with 7 threads.
//
// What else there is, on as many tiers and threads: TestSameOperations has the other kernels, and
// names the tests of those that have one of their own. Tables' operations, expressions and files
// (Parquet, CSV) are in bench/peers, TestSameBits. Every kernel with every type and option is
// held against the reference, with as many threads, by package kerneltest.

// sameThreads are the numbers of threads that answers are compared on.
var sameThreads = []int{1, 2, 7}

// eachSame calls f on every tier with each number of threads, and fails the test where a
// column is not, bit for bit, what the first call gave. Sorts go by way of lines from the
// first row on. f's backend has a device of its own.
func eachSame(t *testing.T, what string, f func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error)) {
	t.Helper()
	if err := eachSameOr(t, what, f); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// eachSameOr is eachSame of what may be refused: then it is everywhere, with one error, which
// is returned.
func eachSameOr(t *testing.T, what string, f func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error)) error {
	t.Helper()
	d := host.New()
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	names, all := available()
	counts := sameThreads
	if raceDetector {
		all, counts = all[:1], counts[len(counts)-1:]
	}
	var first []*memory.Column
	var refused error
	began := false
	defer func() { releaseAll(first) }()
	for i, l := range all {
		by := *l
		by.lines.from, by.lines.joinFrom, by.lines.closeFrom, by.lines.cutFrom = 1, 1, 1, 1
		b := &kernels.Backend{Device: d, Set: by.set(names[i])}
		for _, threads := range counts {
			runtime.GOMAXPROCS(threads)
			got, err := f(b, s)
			switch {
			case !began:
				first, refused, began = got, err, true
				continue
			case err != nil || refused != nil:
				if said := strings.ReplaceAll(fmt.Sprint(err), names[i], names[0]); said != fmt.Sprint(refused) {
					t.Fatalf("%s: %s with %d threads: %v, and %s with %d: %v", what, names[i], threads, err, names[0], counts[0], refused)
				}
				continue
			case len(got) != len(first):
				t.Fatalf("%s: %s with %d threads gives %d columns, not %d", what, names[i], threads, len(got), len(first))
			}
			for k, c := range got {
				if !alikeColumns(c, first[k]) {
					t.Errorf("%s: column %d of %s with %d threads is not what %s with %d gives", what, k, names[i], threads, names[0], counts[0])
				}
			}
			releaseAll(got)
		}
	}
	return refused
}

// sameGroups groups by keys in any order and in that of first appearance, one of them
// where the second-level cache is large, and in a third way by turns: with aggregates
// that are not tallied, so that groups are numbered, the numbers alone, and distinct rows.
func sameGroups(t *testing.T, name string, turn int, keys []*memory.Column, values *memory.Column, drop bool) {
	t.Helper()
	ctx := context.Background()
	aggs := []kernels.Aggregate{{Op: kernels.CountAll}, {Op: kernels.Sum, Values: values}, {Op: kernels.Count, Values: values}}
	grouped := func(o kernels.GroupOptions) func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
		return func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			g, err := b.GroupBy(ctx, s, keys, aggs, o)
			if err != nil {
				return nil, err
			}
			if g.First != nil {
				return append(g.Values, g.First), nil
			}
			return append(g.Values, g.Keys...), nil
		}
	}
	for _, anyOrder := range []bool{true, false} {
		large := anyOrder == (turn%2 == 0)
		withCache(t, large, func() {
			eachSame(t, fmt.Sprintf("%s, any order %t, large cache %t", name, anyOrder, large),
				grouped(kernels.GroupOptions{AnyOrder: anyOrder, Keys: true, DropNullKeys: drop}))
		})
	}
	o := kernels.GroupOptions{DropNullKeys: drop}
	switch turn % 3 {
	case 0:
		aggs = append(aggs, kernels.Aggregate{Op: kernels.Var, Values: values}, kernels.Aggregate{Op: kernels.Max, Values: values},
			kernels.Aggregate{Op: kernels.Mean, Values: values}, kernels.Aggregate{Op: kernels.Last, Values: values})
		eachSame(t, name+", numbered", grouped(o))
	case 1:
		eachSame(t, name+", numbers", func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			g, err := b.Group(ctx, s, keys, o)
			if err != nil {
				return nil, err
			}
			return []*memory.Column{g.IDs, g.First}, nil
		})
	case 2:
		eachSame(t, name+", distinct", func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			rows, err := b.Unique(ctx, s, keys, o)
			return []*memory.Column{rows}, err
		})
	}
}

// sameText is a column of texts of a shape, with nulls if some are.
func sameText(t *testing.T, r *rand.Rand, rows int, name string, nulls bool) *memory.Column {
	t.Helper()
	shape := textShapes[name]
	return textsWithNulls(t, rows, func(row int) (string, bool) {
		if nulls && row%13 == 5 {
			return "", false
		}
		return shape(r, row), true
	})
}

// textsWithNulls is a column of the texts that at gives, null where it gives false.
func textsWithNulls(t *testing.T, rows int, at func(row int) (string, bool)) *memory.Column {
	t.Helper()
	offsets, valid, nulls := make([]int32, rows+1), make(memory.Bitmap, memory.BitmapBytes(int64(rows))), 0
	var bytes []byte
	for row := range rows {
		text, is := at(row)
		if is {
			valid.Set(int64(row))
		} else {
			nulls++
		}
		bytes = append(bytes, text...)
		offsets[row+1] = int32(len(bytes))
	}
	ends, err := memory.New(memory.Heap, int64(4*len(offsets)))
	if err != nil {
		t.Fatal(err)
	}
	copy(memory.View[int32](ends), offsets)
	parts := memory.Parts{Type: arrow.BinaryTypes.String, Len: int64(rows), Nulls: int64(nulls), Buffers: []*memory.Buffer{nil, ends, memory.Wrap(bytes, nil)}}
	if nulls > 0 {
		parts.Buffers[0] = memory.Wrap(valid, nil)
	}
	c, err := memory.NewColumn(parts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Release)
	return c
}

// sameRows are rows that are grouped.
const sameRows = 150_000

// aggregated are columns of values: floats with nulls and without, and integers.
func aggregated(t *testing.T, r *rand.Rand) []*memory.Column {
	all := make([]float64, manyRows)
	for i := range all {
		all[i] = r.NormFloat64()
	}
	whole := fixedColumn(t, arrow.PrimitiveTypes.Float64, all)
	t.Cleanup(whole.Release)
	return []*memory.Column{floatsWithNulls(t, manyRows), whole, wholeInts(t, manyRows)}
}

// Many groups of 64 bits are cut by their first rows' ranks, and a large range of keys
// into parts of which some are done in each turn: here from fewer on.
func TestSameGroups(t *testing.T) {
	oldRanked, oldTurn := fewRanked, mostTurnParts
	defer func() { fewRanked, mostTurnParts = oldRanked, oldTurn }()
	r := rand.New(rand.NewPCG(testSeed, 50))
	values := aggregated(t, r)
	for i, name := range []string{"distinct", "sorted", "far sorted", "skewed", "one and rest", "extremes", "wide", "70k far", "20k far", "100k close",
		"few, then many", "clustered", "runs all over", "sparse in range"} {
		fewRanked = []int64{oldRanked, 1 << 10}[i/2%2]
		keys := shapedColumn(t, r, manyRows, shapes[name])
		sameGroups(t, name, i, []*memory.Column{keys}, values[i%3], false)
		if name == "sparse in range" {
			mostTurnParts = 1
			for turn, v := range values[:2] {
				sameGroups(t, name+" in turns", turn, []*memory.Column{keys}, v, false)
			}
		}
	}
	twenty := shapedColumn(t, r, manyRows, shapes["20k far"])
	for turn, v := range values[:2] { // tables beyond the first-level cache, by ranges and by parts, with values that are null
		sameGroups(t, "20k far again", turn, []*memory.Column{twenty}, v, false)
		sameGroups(t, "20k far once more", turn+3, []*memory.Column{twenty}, v, false)
	}
	far := []*memory.Column{shapedColumn(t, r, manyRows, shapes["20k far"]), shapedColumn(t, r, manyRows, shapes["wide"])}
	sameGroups(t, "two that are far", 0, far, values[1], false)
}

func TestSameGroupsOfTexts(t *testing.T) {
	old := fewRanked
	defer func() { fewRanked = old }()
	r := rand.New(rand.NewPCG(testSeed, 51))
	values := aggregated(t, r)
	for i, name := range slices.Sorted(maps.Keys(textShapes)) {
		fewRanked = []int64{old, 1 << 10}[i%2]
		sameGroups(t, name, i, []*memory.Column{sameText(t, r, manyRows, name, i%2 == 0)}, values[i%3], i%4 == 0)
	}
	const most = 300_000
	many := textsWithNulls(t, most, func(int) (string, bool) {
		if r.IntN(10) < 3 {
			return "", false
		}
		return fmt.Sprint("key", r.IntN(130_000)), true
	})
	for turn := range 2 {
		sameGroups(t, "many texts", turn, []*memory.Column{many}, wholeInts(t, most), false)
	}
	texts := sameText(t, r, 300, "distinct", true)
	coded := indicesOf[int16](t, arrow.PrimitiveTypes.Int16, texts, manyRows, func(i int) (int, bool) { return r.IntN(300), i%17 == 0 })
	for turn := range 3 {
		sameGroups(t, "a dictionary", turn, []*memory.Column{coded}, values[turn], false)
	}
}

func TestSameJoins(t *testing.T) {
	ctx, r := context.Background(), rand.New(rand.NewPCG(testSeed, 52))
	numbers := wholeInts(t, sameRows)
	for i, name := range []string{"distinct", "sorted", "far sorted", "70k far", "100k close", "one and rest", "clustered"} {
		left, rows := shapedColumn(t, r, sameRows, shapes[name]), sameRows
		if name == "one and rest" || name == "clustered" {
			rows = 12 // of keys that many rows have
		}
		right := shapedColumn(t, r, rows, shapes[name])
		payload := wholeInts(t, rows)
		for _, o := range []kernels.JoinOptions{{AnyOrder: true}, {}} {
			eachSame(t, fmt.Sprintf("%s, columns, %+v", name, o), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
				joined, err := b.JoinColumns(ctx, s, kernels.JoinSide{Keys: []*memory.Column{left}, Columns: []*memory.Column{numbers, left}},
					kernels.JoinSide{Keys: []*memory.Column{right}, Columns: []*memory.Column{payload}}, o)
				if err != nil {
					return nil, err
				}
				defer joined.Release()
				var all []*memory.Column
				for {
					columns, err := joined.Next(ctx, 1<<20)
					if err == io.EOF {
						return all, nil
					}
					if err != nil {
						return nil, err
					}
					all = append(all, columns...)
				}
			})
		}
		samePairs(t, name, []*memory.Column{left}, []*memory.Column{right}, kernels.JoinKind(i)%(kernels.AntiJoin+1), false)
	}
	far, near := shapedColumn(t, r, sameRows, shapes["20k far"]), shapedColumn(t, r, sameRows, shapes["extremes"])
	samePairs(t, "two that are far", []*memory.Column{far, near}, []*memory.Column{far, near}, kernels.SemiJoin, false)
}

// samePairs finds the pairs of an inner join and of one of another kind.
func samePairs(t *testing.T, name string, left, right []*memory.Column, kind kernels.JoinKind, nullsEqual bool) {
	t.Helper()
	ctx, o := context.Background(), kernels.JoinOptions{NullsEqual: nullsEqual}
	eachSame(t, fmt.Sprint(name, ", ", kind), func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
		table, err := b.JoinBuild(ctx, s, right, o)
		if err != nil {
			return nil, err
		}
		defer table.Release()
		var all []*memory.Column
		for _, k := range []kernels.JoinKind{kernels.InnerJoin, kind} {
			p, err := table.Probe(ctx, s, left, k, o)
			if err != nil {
				return nil, err
			}
			if all = append(all, p.Left); p.Right != nil {
				all = append(all, p.Right)
			}
		}
		return all, nil
	})
}

func TestSameJoinsOfTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(testSeed, 53))
	for i, name := range []string{"shared prefix", "middle", "distinct", "long", "zero bytes"} {
		rows := 20_000
		if name == "long" || name == "zero bytes" {
			rows = 40 // of few texts
		}
		left := sameText(t, r, sameRows, name, i%2 == 0)
		right := textsWithNulls(t, rows, func(row int) (string, bool) { // of few nulls, where each is paired with all of the left ones
			return textShapes[name](r, row), i%2 != 0 || row%13 != 5 || row > 100
		})
		samePairs(t, name, []*memory.Column{left}, []*memory.Column{right}, kernels.JoinKind(i)%(kernels.AntiJoin+1), name == "distinct")
	}
}

func TestSameSorts(t *testing.T) {
	ctx, r := context.Background(), rand.New(rand.NewPCG(testSeed, 54))
	all := sortShapes(t, r)
	payload := make([]float64, shapeRows)
	for i := range payload {
		payload[i] = r.NormFloat64()
	}
	wide, holes := fixedColumn(t, arrow.PrimitiveTypes.Float64, payload), all[10].key.Values
	defer wide.Release()
	all = append(all, intShape(t, "rising, and equal", func(i int) int64 { return int64(i / 1000) }))
	for i, x := range all {
		defer x.key.Values.Release()
		key := x.key
		if i < 14 {
			key.Descending, key.NullsFirst = i&1 != 0, i&2 != 0
		}
		keys := []kernels.SortKey{key}
		switch {
		case i == 14:
			keys = []kernels.SortKey{key, all[0].key}
		case i%3 == 0 && i < 12 || i == 13:
			keys = []kernels.SortKey{all[(i+2)%14].key, key}
		}
		eachSame(t, x.name, func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
			top, err := b.TopK(ctx, s, keys, 100)
			if err != nil || i%6 == 1 {
				return []*memory.Column{top}, err
			}
			if len(keys) > 1 || i == 12 { // of texts
				rows, err := b.SortIndices(ctx, s, keys)
				return []*memory.Column{top, rows}, err
			}
			sorted, err := b.SortColumns(ctx, s, keys, []*memory.Column{key.Values, []*memory.Column{wide, holes}[i%2]})
			return append(sorted, top), err
		})
	}
}
