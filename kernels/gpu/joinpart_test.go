package gpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// joinShape is what a right side is to become.
type joinShape struct {
	parts, alone, rest bool // by parts; each row with a key of its own; some parts in global memory
}

func shapeOf(t *joinTable) joinShape {
	shape := joinShape{parts: t.parts != nil}
	if shape.parts {
		shape.alone, shape.rest = t.starts == nil, t.parts.rest != nil
	}
	return shape
}

// checkJoin builds a table of the right keys and probes it twice, in order and in
// any order, with both sides checked against a map.
func checkJoin(t *testing.T, c *call, left, right []int64, want joinShape) {
	t.Helper()
	l, r := fromValues(c, arrow.PrimitiveTypes.Int64, left), fromValues(c, arrow.PrimitiveTypes.Int64, right)
	if !c.ok() {
		return
	}
	built, err := c.e.joinBuild(c.ctx, c.s, []*memory.Column{r}, kernels.JoinOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	defer built.Release()
	if shape := shapeOf(built.(*joinTable)); shape != want {
		t.Errorf("the table is %+v, not %+v", shape, want)
	}
	rows := map[int64][]uint32{}
	for i, k := range right {
		rows[k] = append(rows[k], uint32(i))
	}
	pairs := 0
	for _, k := range left {
		pairs += len(rows[k])
	}
	for _, any := range []bool{false, true} {
		p, err := built.Probe(c.ctx, c.s, []*memory.Column{l}, kernels.InnerJoin, kernels.JoinOptions{AnyOrder: any})
		if err != nil {
			t.Error(err)
			return
		}
		a, b := c.toHost(p.Left), c.toHost(p.Right)
		p.Release()
		if !c.ok() {
			return
		}
		ls, rs := memory.Values[uint32](a), memory.Values[uint32](b)
		if len(ls) != pairs {
			t.Errorf("any order %v: %d pairs, not %d", any, len(ls), pairs)
		}
		met, moved := map[uint64]bool{}, false
		for i := range ls {
			if left[ls[i]] != right[rs[i]] {
				t.Errorf("any order %v: pair %d is of rows %d and %d, whose keys differ", any, i, ls[i], rs[i])
				break
			}
			met[uint64(ls[i])<<32|uint64(rs[i])] = true
			moved = moved || i > 0 && (ls[i] < ls[i-1] || ls[i] == ls[i-1] && rs[i] <= rs[i-1])
		}
		if len(met) != pairs {
			t.Errorf("any order %v: only %d of %d pairs", any, len(met), pairs)
		}
		// The fast path is one that does not bring the pairs back into order.
		if fast := any && want.parts && !want.rest; moved != fast {
			t.Errorf("any order %v: pairs out of order: %v", any, moved)
		}
		a.Release()
		b.Release()
	}
}

// Right sides around the limit of one table, and all that can become of parts.
func TestJoinByParts(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	zipf := rand.NewZipf(r, 1.2, 1, 20_000)
	for _, x := range []struct {
		note string
		n    int
		key  func(i int) int64
		want joinShape
	}{
		{"as many keys as a table takes", 1024, func(i int) int64 { return int64(i) }, joinShape{}},
		{"one more", 1025, func(i int) int64 { return int64(i) }, joinShape{parts: true, alone: true}},
		{"many", 20_000, func(i int) int64 { return int64(i * 7919 % 20_000) }, joinShape{parts: true, alone: true}},
		{"two rows of each", 20_000, func(i int) int64 { return int64(i % 10_000) }, joinShape{parts: true}},
		{"one key of all", 20_000, func(int) int64 { return 5 }, joinShape{}},
		{"one key of most", 20_000, func(i int) int64 { return int64(i) * int64(1-min(i%5, 1)) }, joinShape{parts: true, rest: true}},
		{"Zipf", 20_000, func(int) int64 { return int64(zipf.Uint64()) }, joinShape{parts: true, rest: true}},
	} {
		right, left := make([]int64, x.n), make([]int64, 3000)
		for i := range right {
			right[i] = x.key(i) * 0x9E3779B97F4A7C1
		}
		for i := range left {
			left[i] = (int64(zipf.Uint64()) + 7) * 0x9E3779B97F4A7C1
		}
		t.Run(x.note, func(t *testing.T) {
			onDevices(t, func(t *testing.T, c *call) {
				c.e.joins = joinTuning{tableMost: 2048, partRows: 300, partMost: 600}
				checkJoin(t, c, left, right, x.want)
			})
		})
	}
}

// A right side that does not fit a table of the cache's size, as it is set.
func TestJoinManyKeys(t *testing.T) {
	const n = 1_200_000
	left, right := make([]int64, 100_000), make([]int64, n)
	for i := range right {
		right[i] = int64(i) * 0x9E3779B97F4A7C1
	}
	r := rand.New(rand.NewPCG(13, 14))
	for i := range left {
		left[i] = r.Int64N(2*n) * 0x9E3779B97F4A7C1
	}
	onDevices(t, func(t *testing.T, c *call) { checkJoin(t, c, left, right, joinShape{parts: true, alone: true}) })
}

// Parts that hold on average as many rows as are allowed for hold all rows.
func TestJoinPartBits(t *testing.T) {
	for _, x := range []struct {
		n, rows int64
		want    int
	}{{1, 8, 1}, {16, 8, 1}, {17, 8, 2}, {32, 8, 2}, {1_200_000, 1600, 10}, {100_000_000, 1600, 16}, {1 << 40, 1600, 30}} {
		t.Run(fmt.Sprint(x.n), func(t *testing.T) {
			if got := joinPartBits(x.n, x.rows); got != x.want {
				t.Errorf("%d bits, not %d", got, x.want)
			}
		})
	}
}
