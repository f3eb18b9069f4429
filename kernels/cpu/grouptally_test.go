package cpu

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// countedRows is what rows of one key come to, by a map.
type countedRows struct {
	rows, values int64
	sum          float64
}

// keyOf is row i of keys as a text.
func keyOf(keys []*memory.Column, i int64) string {
	var text []byte
	for _, k := range keys {
		if k.Type().ID() == arrow.INT64 && !k.IsNull(i) {
			text = strconv.AppendInt(text, memory.Values[int64](k)[i], 10)
		} else {
			text = append(text, kernels.ScalarAt(k, i).String()...)
		}
		text = append(text, '|')
	}
	return string(text)
}

// checkTallies groups in any order, with 1, 2 and 7 threads, and holds the
// groups against a map's. tallied says whether keys have to come in place of
// first rows. Under the race detector, which asks whether workers meet and not for
// answers, it groups once, on 7 threads.
func checkTallies(t *testing.T, keys []*memory.Column, values *memory.Column, drop, tallied bool) {
	t.Helper()
	want := map[string]countedRows{}
	for i := range values.Len() {
		if raceDetector {
			break
		}
		if drop && slices.ContainsFunc(keys, func(k *memory.Column) bool { return !kernels.ScalarAt(k, i).Valid() }) {
			continue
		}
		key := keyOf(keys, i)
		w := want[key]
		w.rows++
		if v := kernels.ScalarAt(values, i); v.Valid() {
			w.values++
			w.sum += v.Float64()
		}
		want[key] = w
	}
	aggs := []kernels.Aggregate{{Op: kernels.CountAll}, {Op: kernels.Sum, Values: values}, {Op: kernels.Count, Values: values},
		{Op: kernels.Sum, Values: values, Options: kernels.AggregateOptions{MinCount: 3}},
		{Op: kernels.Sum, Values: values, Options: kernels.AggregateOptions{KeepNulls: true}}}
	if values.Type().ID() == arrow.FLOAT64 {
		aggs = append(aggs, kernels.Aggregate{Op: kernels.Mean, Values: values})
	}
	b := onlyGroups(t)
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	ctx := context.Background()
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var first []*memory.Column
	for _, threads := range tallyThreads() {
		runtime.GOMAXPROCS(threads)
		g, err := b.GroupBy(ctx, s, keys, aggs, kernels.GroupOptions{AnyOrder: true, Keys: true, DropNullKeys: drop})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Release()
		if (g.First == nil) != tallied {
			t.Fatalf("tallied: %v", g.First == nil)
		}
		if g.First != nil || raceDetector {
			return
		}
		all := append(slices.Clone(g.Keys), g.Values...)
		if first != nil {
			for i, c := range all {
				if err := kerneltest.Equal(c, first[i], kerneltest.Tolerance{}); err != nil {
					t.Fatalf("%d threads, column %d is not what 2 threads gave: %v", threads, i, err)
				}
			}
			continue
		}
		first = all
		checkGroups(t, g, want)
	}
}

// tallyThreads are the numbers of threads that tallies are made with.
func tallyThreads() []int {
	if raceDetector {
		return []int{7}
	}
	return []int{2, 1, 7}
}

// checkFirsts groups in the order of first appearance with 1, 2 and 7 threads, once
// under the race detector, and holds keys and aggregates that are tallied against those of groups that are numbered.
func checkFirsts(t *testing.T, keys []*memory.Column, values *memory.Column, drop, tallied bool) {
	t.Helper()
	aggs := []kernels.Aggregate{{Op: kernels.CountAll}, {Op: kernels.Sum, Values: values}, {Op: kernels.Count, Values: values},
		{Op: kernels.Sum, Values: values, Options: kernels.AggregateOptions{MinCount: 3}}}
	b, ctx := onlyGroups(t), context.Background()
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want, err := b.GroupBy(ctx, s, keys, aggs, kernels.GroupOptions{DropNullKeys: drop})
	if err != nil {
		t.Fatal(err)
	}
	defer want.Release()
	rows := memory.Values[uint32](want.First)
	var first []*memory.Column
	for _, threads := range tallyThreads() {
		runtime.GOMAXPROCS(threads)
		g, err := b.GroupBy(ctx, s, keys, aggs, kernels.GroupOptions{Keys: true, DropNullKeys: drop})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Release()
		if (g.First == nil) != tallied || g.Len() != int64(len(rows)) {
			t.Fatalf("%d threads: tallied %v, %d groups and not %d", threads, g.First == nil, g.Len(), len(rows))
		}
		if !tallied || raceDetector {
			continue
		}
		for i, c := range g.Values {
			if err := kerneltest.Equal(c, want.Values[i], kerneltest.Tolerance{Rel: 1e-11, Abs: 1e-6}); err != nil {
				t.Fatalf("%d threads, aggregate %d: %v", threads, i, err)
			}
		}
		all := append(slices.Clone(g.Keys), g.Values...)
		for i, c := range all {
			if first != nil {
				if err := kerneltest.Equal(c, first[i], kerneltest.Tolerance{}); err != nil {
					t.Fatalf("%d threads, column %d is not what 2 threads gave: %v", threads, i, err)
				}
			}
		}
		if first == nil {
			first = all
			for i, row := range rows {
				if got, key := keyOf(g.Keys, int64(i)), keyOf(keys, int64(row)); got != key {
					t.Fatalf("group %d is %s, not %s", i, got, key)
				}
			}
		}
	}
}

// checkGroups holds groups against a map's.
func checkGroups(t *testing.T, g *kernels.Grouped, want map[string]countedRows) {
	t.Helper()
	if g.Len() != int64(len(want)) {
		t.Fatalf("%d groups, not %d", g.Len(), len(want))
	}
	near := func(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-6+1e-11*math.Abs(b) }
	for i := range g.Len() {
		key := keyOf(g.Keys, i)
		w, have := want[key]
		if !have {
			t.Fatalf("group %d, %s, is not there or there twice", i, key)
		}
		delete(want, key)
		v := make([]kernels.Scalar, len(g.Values))
		for k, c := range g.Values {
			v[k] = kernels.ScalarAt(c, i)
		}
		if v[0].Int64() != w.rows || v[2].Int64() != w.values {
			t.Fatalf("%s: %v rows, %v values; not %+v", key, v[0], v[2], w)
		}
		if v[1].Valid() != (w.values > 0) || w.values > 0 && !near(v[1].Float64(), w.sum) {
			t.Fatalf("%s: sum %v; not %+v", key, v[1], w)
		}
		if v[3].Valid() != (w.values >= 3) || v[4].Valid() != (w.values == w.rows) {
			t.Fatalf("%s: sums %v of three, %v of all; not %+v", key, v[3], v[4], w)
		}
		if len(v) > 5 && w.values > 0 && !near(v[5].Float64(), w.sum/float64(w.values)) {
			t.Fatalf("%s: mean %v; not %+v", key, v[5], w)
		}
	}
}

// floatsWithNulls and wholeInts are columns of values.
func floatsWithNulls(t *testing.T, n int) *memory.Column {
	r := rand.New(rand.NewPCG(7, 8))
	return makeColumn(t, arrow.PrimitiveTypes.Float64, n, func(i int) kernels.Scalar {
		if i%11 == 3 {
			return kernels.Null(arrow.PrimitiveTypes.Float64)
		}
		return kernels.Float64(r.NormFloat64() * 1e3)
	})
}

func wholeInts(t *testing.T, n int) *memory.Column {
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(i) * 31
	}
	return fixedColumn(t, arrow.PrimitiveTypes.Int64, values)
}

// numberedInOrder are shapes that are numbered where the order of first appearance
// is wanted: with so many groups in hash tables against the rows.
var numberedInOrder = []string{"wide", "powers of 2^32", "70k far", "30k far", "far sorted", "few, then many", "one and rest"}

func TestTallyShapes(t *testing.T) {
	values := []*memory.Column{floatsWithNulls(t, manyRows), wholeInts(t, manyRows)}
	whole := []*memory.Column{makeColumn(t, arrow.PrimitiveTypes.Float64, manyRows, func(i int) kernels.Scalar {
		return kernels.Float64(float64(i%1013) / 7)
	}), values[1]}
	for at, name := range slices.Sorted(maps.Keys(shapes)) {
		shape := shapes[name]
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			rows := make([]int64, manyRows)
			for i := range rows {
				rows[i] = shape(r, int64(i))
			}
			keys := fixedColumn(t, arrow.PrimitiveTypes.Int64, rows)
			k := at % 2
			// Words of 64 bits have none to spare for a null of the values.
			full := name == "wide" && k == 0
			checkTallies(t, []*memory.Column{keys}, values[k], false, !full)
			checkFirsts(t, []*memory.Column{keys}, whole[k], false, !slices.Contains(numberedInOrder, name))
		})
	}
}

func TestTallyKeys(t *testing.T) {
	const rows = 30_000
	floats, ints := floatsWithNulls(t, rows), wholeInts(t, rows)
	r := rand.New(rand.NewPCG(9, 10))
	nulled := func(typ arrow.DataType, few, space int64) *memory.Column {
		return makeColumn(t, typ, rows, func(i int) kernels.Scalar {
			if r.IntN(3) == 0 {
				return kernels.Null(typ)
			}
			return kernels.Int(typ, r.Int64N(few)*space-few/2)
		})
	}
	keys := map[string][]*memory.Column{
		"int8":         {nulled(arrow.PrimitiveTypes.Int8, 100, 1)},
		"int32":        {nulled(arrow.PrimitiveTypes.Int32, 9000, 1)},
		"int64 sparse": {nulled(arrow.PrimitiveTypes.Int64, 9000, 1<<40)},
		"dates":        {nulled(arrow.FixedWidthTypes.Date32, 30_000, 3)},
		"three":        {nulled(arrow.PrimitiveTypes.Int16, 30, 1), nulled(arrow.PrimitiveTypes.Int64, 20, 1), nulled(arrow.PrimitiveTypes.Uint16, 5, 400)},
		"two sparse":   {nulled(arrow.PrimitiveTypes.Int64, 3000, 1<<15), nulled(arrow.PrimitiveTypes.Int64, 5, 1<<28)},
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		t.Run(name, func(t *testing.T) {
			checkTallies(t, keys[name], floats, false, true)
			checkTallies(t, keys[name], ints, true, true)
			checkFirsts(t, keys[name], ints, len(name) < 6, name != "two sparse") // its groups are many
		})
	}
	sliced := func(c *memory.Column) *memory.Column {
		s, err := c.Slice(1234, rows-5000)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Release)
		return s
	}
	checkTallies(t, []*memory.Column{sliced(keys["int64 sparse"][0])}, sliced(floats), false, true)
	truths := makeColumn(t, arrow.FixedWidthTypes.Boolean, rows, func(i int) kernels.Scalar { return kernels.Bool(i%3 == 0) })
	checkTallies(t, []*memory.Column{truths}, ints, false, false)
	checkTallies(t, []*memory.Column{floats}, ints, false, false)
}

func TestTallyTexts(t *testing.T) {
	const rows = 70_000
	floats, ints := floatsWithNulls(t, rows), wholeInts(t, rows)
	short := []string{"one letter", "shared prefix", "distinct", "half of one"}
	for at, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary} {
		for _, name := range slices.Sorted(maps.Keys(textShapes)) {
			if raceDetector && name != short[at] {
				continue
			}
			t.Run(fmt.Sprint(typ, name), func(t *testing.T) {
				r := rand.New(rand.NewPCG(5, 6))
				keys := makeColumn(t, typ, rows, func(i int) kernels.Scalar {
					text := textShapes[name](r, i)
					if i%13 == 5 && at != 1 {
						return kernels.Null(typ)
					}
					return kernels.Text(typ, text)
				})
				fits := slices.Contains(short, name)
				checkTallies(t, []*memory.Column{keys}, ints, false, fits)
				if fits {
					checkFirsts(t, []*memory.Column{keys}, ints, false, true)
				}
				if at == 1 && fits {
					checkTallies(t, []*memory.Column{keys}, floats, true, true)
				}
			})
		}
	}
}

// Texts of many groups among many more rows have a table that is not cut into parts.
func TestTallyTextsWhole(t *testing.T) {
	const groups = 9000
	rows := textRows*slotsFor(groups) + 777
	if slotsFor(groups) <= mostSlots/2 {
		t.Fatal("too few groups")
	}
	floats, ints := floatsWithNulls(t, rows), wholeInts(t, rows)
	r := rand.New(rand.NewPCG(5, 6))
	keys := makeColumn(t, arrow.BinaryTypes.String, rows, func(int) kernels.Scalar {
		return kernels.Text(arrow.BinaryTypes.String, fmt.Sprintf("key_%07d", r.IntN(groups)))
	})
	checkTallies(t, []*memory.Column{keys}, floats, true, true)
	checkFirsts(t, []*memory.Column{keys}, ints, false, true)
}

// TestTallyTextsApart looks for two texts that a table searches for from one slot on
// and whose first words differ in bits only that their second word has: a comparison
// that mixes up the words finds them equal.
func TestTallyTextsApart(t *testing.T) {
	const skip = 4
	h := textTable[int64]{slots: vec[textSlot[int64]]{s: make([]textSlot[int64], 1<<6)}, shift: 64 - 6}
	home := func(w [2]uint64) uint64 { return mixText(w[0], w[1]) << skip >> h.shift }
	r := rand.New(rand.NewPCG(7, 8))
	one, two := [2]uint64{}, [2]uint64{}
	for one == two || home(one) != home(two) {
		one = [2]uint64{r.Uint64(), r.Uint64()>>8 | shortText<<56}
		two = [2]uint64{one[0] ^ r.Uint64()&one[1], one[1]}
	}
	h.foldRecords(new(tallyBatch[int64]), []textRecord{{one, 1}, {two, 2}, {one, 4}}, nil, skip)
	if h.used != 2 {
		t.Fatalf("%x and %x are %d groups", one, two, h.used)
	}
	if a, b := h.find(home(one), one[0], one[1]).sum, h.find(home(two), two[0], two[1]).sum; a != 5 || b != 2 {
		t.Fatalf("sums of %x and %x are %d and %d", one, two, a, b)
	}
}

// TestTallyRounds has groups in hash tables that appear first in each of two rounds,
// and one in the last row.
func TestTallyRounds(t *testing.T) {
	const rows = roundRows + 100_000
	r := rand.New(rand.NewPCG(11, 12))
	keys, values := make([]int64, rows), make([]float64, rows)
	for i := range keys {
		k := r.Int64N(20_000)
		if i > rows/2 {
			k = r.Int64N(40_000 + int64(i/roundRows)*5000)
		}
		keys[i], values[i] = k*0x9E3779B97F4A7C1, float64(i%1013)/7
	}
	keys[rows-1] = 1
	k, v := fixedColumn(t, arrow.PrimitiveTypes.Int64, keys), fixedColumn(t, arrow.PrimitiveTypes.Float64, values)
	for _, large := range []bool{false, true} {
		withCache(t, large, func() { checkFirsts(t, []*memory.Column{k}, v, false, true) })
	}
}

// withCache runs f as where the second-level cache is large, or is not.
func withCache(t *testing.T, large bool, f func()) {
	t.Helper()
	old := largeL2
	defer func() { largeL2 = old }()
	largeL2 = large
	f()
}

// Tables of parts are of one size or another by the cache, and hold the same sums.
func TestTallyCaches(t *testing.T) {
	const rows = 300_000
	floats, ints := floatsWithNulls(t, rows), wholeInts(t, rows)
	r := rand.New(rand.NewPCG(13, 14))
	keys := make([]int64, rows)
	for i := range keys {
		keys[i] = int64(mix(uint64(r.Int64N(30_000)))) >> 1 // bit 63 is to spare
	}
	k := []*memory.Column{fixedColumn(t, arrow.PrimitiveTypes.Int64, keys)}
	for _, large := range []bool{false, true} {
		withCache(t, large, func() {
			checkTallies(t, k, floats, false, true)
			checkTallies(t, k, ints, false, true)
			checkFirsts(t, k, ints, false, true)
		})
	}
}

func TestTallySkip(t *testing.T) {
	for _, c := range []struct {
		large  bool
		groups int64
		want   uint
	}{
		{false, 0, 4}, {false, 100_000, 9}, {false, 1 << 20, 9}, {false, 2 << 20, 9}, {false, 4 << 20, 10}, {false, 1 << 30, mostTallyParts},
		{true, 0, 4}, {true, 100_000, 6}, {true, 1 << 20, 6}, {true, 4 << 20, 8}, {true, 1 << 30, mostTallyParts},
	} {
		withCache(t, c.large, func() {
			if got := tallySkip(c.groups); got != c.want {
				t.Errorf("large %v, %d groups: 2^%d parts, not 2^%d", c.large, c.groups, got, c.want)
			}
		})
	}
}

// A few values tell that keys take all 64 bits, and never that they do where they do not.
func TestFarApart(t *testing.T) {
	values := make([]int64, 1000)
	if farApart(values) || farApart(values[:0]) || farApart([]int32{math.MinInt32, math.MaxInt32}) || farApart([]uint64{5}) {
		t.Error("values of a small range are told to be far apart")
	}
	values[0], values[999] = -1<<62, 1<<62-1
	if farApart(values) {
		t.Error("values of 63 bits are told to be far apart")
	}
	values[999]++
	if !farApart(values) || !farApart([]uint64{1 << 63, 0}) || !farApart([]int64{math.MinInt64, math.MaxInt64, 0}) {
		t.Error("values of 64 bits are not told to be far apart")
	}
}
