package gpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// fromValues is a column of fixed-width values on the device.
func fromValues[T any](c *call, t arrow.DataType, values []T) *memory.Column {
	b, err := memory.New(memory.Heap, int64(len(values)*memory.Width(t)))
	if err != nil {
		c.fail(err)
		return nil
	}
	copy(memory.View[T](b), values)
	host, err := memory.NewColumn(memory.Parts{Type: t, Len: int64(len(values)), Buffers: []*memory.Buffer{nil, b}})
	if err != nil {
		c.fail(err)
		return nil
	}
	defer host.Release()
	return c.toDevice(host)
}

func fromTexts(c *call, texts []string) *memory.Column {
	values := make([]kernels.Scalar, len(texts))
	for i, s := range texts {
		values[i] = kernels.String(s)
	}
	host, err := kernels.FromScalars(memory.Heap, arrow.BinaryTypes.String, values)
	if err != nil {
		c.fail(err)
		return nil
	}
	defer host.Release()
	return c.toDevice(host)
}

// Tables that have to grow, of each of the three kinds of keys.
func TestGroupManyKeys(t *testing.T) {
	const n = 300_000
	r := rand.New(rand.NewPCG(1, 2))
	names, low, high := make([]string, n), make([]int64, n), make([]int64, n)
	for i := range n {
		k := r.Int64N(200_000)
		names[i], low[i], high[i] = fmt.Sprintf("name %d of the many", k), k%1000-500, k
	}
	onDevices(t, func(t *testing.T, c *call) {
		texts := fromTexts(c, names)
		a, b := fromValues(c, arrow.PrimitiveTypes.Int64, low), fromValues(c, arrow.PrimitiveTypes.Int64, high)
		for name, keys := range map[string][]*memory.Column{"word": {b}, "words": {a, b}, "text": {texts}, "text and word": {texts, a}} {
			g := c.groupKeys(keys, kernels.GroupOptions{}, true)
			ids := c.toHost(c.groupIDs(g))
			if !c.ok() {
				t.Fatal(name, c.err)
			}
			if g.table.capacity <= tableLeast {
				t.Errorf("%s: a table of %d slots did not grow", name, g.table.capacity)
			}
			seen := map[int64]uint32{}
			for i, id := range memory.Values[uint32](ids) {
				want, have := seen[high[i]]
				if !have {
					want = uint32(len(seen))
					seen[high[i]] = want
				}
				if id != want {
					t.Fatalf("%s: row %d is of group %d, not %d", name, i, id, want)
				}
			}
			if g.n != int64(len(seen)) {
				t.Errorf("%s: %d groups, not %d", name, g.n, len(seen))
			}
			ids.Release()
		}
	})
}

// In any order there are the same groups, each with its first row.
func TestGroupAnyOrder(t *testing.T) {
	onDevices(t, func(t *testing.T, c *call) { testAnyOrder(t, c, 20_000, 3000) })
}

func testAnyOrder(t *testing.T, c *call, n int, distinct int64) {
	keys, firsts := make([]int64, n), map[int64]uint32{}
	r := rand.New(rand.NewPCG(7, 8))
	for i := range keys {
		keys[i] = r.Int64N(distinct) - 1 // -1 has the bits of an empty slot
		if _, have := firsts[keys[i]]; !have {
			firsts[keys[i]] = uint32(i)
		}
	}
	g := c.groupKeys([]*memory.Column{fromValues(c, arrow.PrimitiveTypes.Int64, keys)}, kernels.GroupOptions{AnyOrder: true}, true)
	ids := c.toHost(c.groupIDs(g))
	first := c.toHost(g.first)
	if !c.ok() {
		return
	}
	if first.Len() != int64(len(firsts)) {
		t.Errorf("%d groups, not %d", first.Len(), len(firsts))
	}
	for i, id := range memory.Values[uint32](ids) {
		if row := memory.Values[uint32](first)[id]; row != firsts[keys[i]] {
			t.Fatalf("row %d is of a group that begins at %d, not at %d", i, row, firsts[keys[i]])
		}
	}
	ids.Release()
	first.Release()
}

// Groups found part by part are those found by a table; parts that are too
// uneven are refused.
func TestGroupParts(t *testing.T) {
	onDevices(t, func(t *testing.T, c *call) {
		testParts(t, c, 70_000, 30_000)
		_, rows := c.keySpaceOf([]*memory.Column{fromValues(c, arrow.PrimitiveTypes.Int64, make([]int64, 70_000))}, false, false)
		if c.groupParts(rows, true, true) != nil {
			t.Error("one key in all rows is no reason to refuse parts")
		}
	})
}

func testParts(t *testing.T, c *call, n, distinct int64) {
	r := rand.New(rand.NewPCG(9, 10))
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = r.Int64N(distinct) - 1
	}
	col := fromValues(c, arrow.PrimitiveTypes.Int64, keys)
	half := c.zeroed(bitBytes(n)) // no row but every eighth of the first half is live
	c.fill(half, 0x01)
	for _, live := range []vector{{}, {half, 0}} {
		for _, nulls := range []bool{false, true} {
			_, rows := c.keySpaceOf([]*memory.Column{col}, false, false)
			rows.live = live
			g := c.groupParts(rows, nulls, true)
			if g == nil {
				t.Fatal("no groups", c.err)
			}
			ids, first := c.temp(4*n), c.temp(4*g.n)
			g.ids(c, n, ids)
			g.firstRows(c, n, first)
			got, firsts := c.read(ids, 0, 4*n), c.read(first, 0, 4*g.n)
			if !c.ok() {
				return
			}
			seen := map[int64]uint32{}
			for i, key := range keys {
				if live.buffer != nil && i%8 != 0 {
					if key = math.MinInt64; !nulls {
						continue
					}
				}
				want, have := seen[key]
				if !have {
					want = uint32(len(seen))
					seen[key] = want
					if row := binary.LittleEndian.Uint32(firsts[4*want:]); row != uint32(i) {
						t.Fatalf("group %d begins at row %d, not %d", want, row, i)
					}
				}
				if id := binary.LittleEndian.Uint32(got[4*i:]); id != want {
					t.Fatalf("live %v, nulls %v: row %d is of group %d, not %d", live.buffer != nil, nulls, i, id, want)
				}
			}
			if g.n != int64(len(seen)) {
				t.Errorf("%d groups, not %d", g.n, len(seen))
			}
		}
	}
}

// Keys that do not fit a table of the cache's size.
func TestGroupManyMoreKeys(t *testing.T) {
	const n = 1_100_000
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = int64(i%(n-10)) * 0x9E3779B97F4A7C1
	}
	onDevices(t, func(t *testing.T, c *call) {
		g := c.groupKeys([]*memory.Column{fromValues(c, arrow.PrimitiveTypes.Int64, keys)}, kernels.GroupOptions{}, true)
		ids := c.toHost(c.groupIDs(g))
		if !c.ok() {
			return
		}
		defer ids.Release()
		if g.parts == nil || g.n != n-10 {
			t.Errorf("%d groups, not %d, by parts: %v", g.n, n-10, g.parts != nil)
		}
		for i, id := range memory.Values[uint32](ids) {
			if id != uint32(i%(n-10)) {
				t.Fatalf("row %d is of group %d", i, id)
			}
		}
	})
}

// Slots of 8 bytes, which tables of 2^32 and more slots have.
func TestTableWideSlots(t *testing.T) {
	const n = 5000
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = int64(i%700) * 0x9E3779B97F4A7C1
	}
	onDevices(t, func(t *testing.T, c *call) {
		_, rows := c.keySpaceOf([]*memory.Column{fromValues(c, arrow.PrimitiveTypes.Int64, keys)}, false, false)
		const capacity = int64(1 << 14)
		slots, state, wide, found := c.temp(16*(capacity+2)), c.zeroed(16), c.temp(8*n), c.temp(8*n)
		c.fill(slots, 0xff)
		args := append(rows.args(rows), rows.live, int32(1), slots, capacity-1, capacity, uint64(1)<<63, int32(1), wide, int32(1), int64(n), state)
		c.launch(rows.module(), "table_insert", 3, args...)
		c.launch(rows.module(), "table_find", 3, append(rows.args(rows), rows.live, int32(1), slots, capacity-1, found, int32(1), int64(n))...)
		ids, first := c.temp(8*n), c.temp(8*700)
		c.launch("group", "group_number_any", 2, slots, capacity+2, c.zeroed(8), first, int32(1))
		c.launch("group", "group_ids", 2, wide, int32(1), slots, ids, int32(1), int64(n))
		a, b, id, rowsOf := c.read(wide, 0, 8*n), c.read(found, 0, 8*n), c.read(ids, 0, 8*n), c.read(first, 0, 8*700)
		if !c.ok() {
			return
		}
		if !bytes.Equal(a, b) {
			t.Error("the slots that are found are not those of the insertion")
		}
		for i := range n {
			g := binary.LittleEndian.Uint64(id[8*i:])
			if g >= 700 || binary.LittleEndian.Uint64(rowsOf[8*g:]) != uint64(i%700) {
				t.Fatalf("row %d is of group %d", i, g)
			}
		}
	})
}

// A place for every bit, none twice.
func TestKeySpacePlaces(t *testing.T) {
	for _, widths := range [][]int{{64}, {128}, {1, 8, 16, 32}, {64, 1}, {128, 32, 32, 1}, {18, 18, 28}, {0, 0}, {32, 33, 31, 128, 64, 8}} {
		for _, nulls := range []bool{false, true} {
			s, sum := &keySpace{}, 0
			for _, w := range widths {
				p := keyPart{bits: w, null: -1}
				if sum += w; nulls {
					p.null = 0
					sum++
				}
				s.parts = append(s.parts, p)
			}
			s.place()
			used := map[int]bool{}
			take := func(bit int) {
				if used[bit] || bit >= 64*int(s.k) {
					t.Errorf("%v, nulls %v: bit %d is taken twice or outside of %d words", widths, nulls, bit, s.k)
				}
				used[bit] = true
			}
			for _, p := range s.parts {
				for b := range p.bits {
					take(64*p.word + p.shift + b)
				}
				if nulls {
					take(p.null)
				}
			}
			if sum <= 64 && s.k != 1 {
				t.Errorf("%v, nulls %v: %d bits take %d words", widths, nulls, sum, s.k)
			}
		}
	}
}

// floatSums aggregates by the device.
func floatSums(c *call, op kernels.Aggregation, values []float64, ids []uint32, n int64) []float64 {
	a := c.aggregator(fromValues(c, arrow.PrimitiveTypes.Uint32, ids), n)
	out := a.column(kernels.Aggregate{Op: op, Values: fromValues(c, arrow.PrimitiveTypes.Float64, values)})
	if !c.ok() {
		return nil
	}
	host := c.toHost(out)
	if host == nil {
		return nil
	}
	defer host.Release()
	return append([]float64(nil), memory.Values[float64](host)...)
}

// Sums of floats are within a rounding of the exact sum, whatever cancels out,
// and the same to the bit in any order of the rows.
func TestAggregateFloatSums(t *testing.T) {
	const n = 20_000
	r := rand.New(rand.NewPCG(3, 4))
	for _, groups := range []int{1, 7, 3000} { // folded in local memory and not
		values, ids := make([]float64, n), make([]uint32, n)
		exact, greatest := make([]*big.Float, groups), make([]float64, groups)
		for g := range exact {
			exact[g] = new(big.Float).SetPrec(4000)
		}
		for i := range n {
			ids[i] = uint32(r.IntN(groups))
			values[i] = math.Ldexp(r.Float64()-0.5, r.IntN(120)-60)
			if ids[i] == 0 {
				values[i] = math.Ldexp(r.Float64()-0.5, -1060) // the least there are
			}
			exact[ids[i]].Add(exact[ids[i]], big.NewFloat(values[i]))
			greatest[ids[i]] = max(greatest[ids[i]], math.Abs(values[i]))
		}
		onDevices(t, func(t *testing.T, c *call) {
			got := floatSums(c, kernels.Sum, values, ids, int64(groups))
			if !c.ok() {
				return
			}
			for g, v := range got {
				want, _ := exact[g].Float64()
				if diff := math.Abs(v - want); diff > math.Abs(want)*0x1p-52+greatest[g]*0x1p-80 {
					t.Errorf("group %d of %d: %g, not %g", g, groups, v, want)
				}
			}
			r.Shuffle(n, func(i, j int) {
				values[i], values[j] = values[j], values[i]
				ids[i], ids[j] = ids[j], ids[i]
			})
			for g, v := range floatSums(c, kernels.Sum, values, ids, int64(groups)) {
				if math.Float64bits(v) != math.Float64bits(got[g]) {
					t.Errorf("group %d of %d: %g in one order of rows, %g in another", g, groups, got[g], v)
				}
			}
		})
	}
}

// What is not finite comes through sums and means as it does through additions.
func TestAggregateFloatSpecials(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, x := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{1, inf, -5}, inf}, {[]float64{-inf, 3}, -inf}, {[]float64{inf, -inf}, nan}, {[]float64{nan, 1}, nan}, {[]float64{inf, nan}, nan},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, inf}, {[]float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64}, math.MaxFloat64},
		{[]float64{5e-324, 5e-324}, 1e-323}, {[]float64{0, 0}, 0}, {[]float64{1e300, 1, -1e300, 1e280}, 1e280}, {[]float64{0x1p60, 1, -0x1p60}, 1},
	} {
		onDevices(t, func(t *testing.T, c *call) {
			got := floatSums(c, kernels.Sum, x.values, make([]uint32, len(x.values)), 1)
			if c.ok() && got[0] != x.want && (got[0] == got[0] || x.want == x.want) {
				t.Errorf("the sum of %v is %g, not %g", x.values, got[0], x.want)
			}
		})
	}
}

// Long groups of a product are multiplied by many items, short ones by one.
func TestAggregateProducts(t *testing.T) {
	const n, groups = 30_000, 100
	values, ids, want := make([]float64, n), make([]uint32, n), make([]float64, groups)
	for g := range want {
		want[g] = 1
	}
	r := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		if values[i] = 1 + (r.Float64()-0.5)/100; i%3 == 0 {
			ids[i] = uint32(1 + r.IntN(groups-1))
		}
		want[ids[i]] *= values[i]
	}
	onDevices(t, func(t *testing.T, c *call) {
		first := floatSums(c, kernels.Product, values, ids, groups)
		again := floatSums(c, kernels.Product, values, ids, groups)
		for g := range again {
			if math.Abs(first[g]-want[g]) > 1e-11*want[g] {
				t.Errorf("group %d: %g, not %g", g, first[g], want[g])
			}
			if first[g] != again[g] {
				t.Errorf("group %d: %g, and %g when done again", g, first[g], again[g])
			}
		}
	})
}
