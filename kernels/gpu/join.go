package gpu

import (
	"context"
	"math/bits"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// joinTable is the built side of a join on the device: a table of its keys, or
// where that would be too large for the cache, parts. Both give a row the id of
// its key, which is a slot of the table, or none.
type joinTable struct {
	e     *Engine
	space *keySpace
	table *keyTable
	parts *joinParts // in place of the table
	ids   int64      // are below it
	wide  int32      // 1 where they take 8 bytes, not 4
	// slots is the id of each right row, starts says for each id where its rows
	// begin in list, which holds the right rows by id and then in order. Without
	// all three an id is the one row that it has.
	slots, starts, list *memory.Buffer
	rows                int64
}

// joinBuild is the GPU's JoinBuildFunc. It waits for the stream, so that the
// table can be probed on any other.
func (e *Engine) joinBuild(ctx context.Context, s device.Stream, keys []*memory.Column, o kernels.JoinOptions) (_ kernels.JoinTable, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	t := &joinTable{e: e, rows: keys[0].Len()}
	var right keyRows
	t.space, right = c.keySpaceOf(keys, !o.NullsEqual, true)
	t.table, t.slots = c.buildTable(right, tableOptions{nulls: o.NullsEqual, count: true, most: e.joins.tableMost})
	switch {
	case !c.ok():
	case t.table == nil:
		c.joinByParts(t, right, o.NullsEqual)
	default:
		t.ids, t.wide = t.table.size(), boolArg(t.table.wide())
		c.joinLists(t)
	}
	if c.ok() {
		c.fail(s.Wait(ctx))
	}
	if !c.ok() {
		return nil, c.err
	}
	t.space.keep()
	for _, b := range t.buffers() {
		b.Retain()
	}
	return t, nil
}

// joinLists makes the list of rows of each slot, and tells how many rows have one.
func (c *call) joinLists(t *joinTable) int64 {
	width := rowWidth(t.rows)
	counts := c.zeroed(int64(width) * t.ids) // as wide as row numbers: one key may have all rows
	c.launch("join", "join_count", c.strided(t.rows), t.slots, t.wide, counts, boolArg(width == 8), t.rows)
	t.starts = c.prefix(counts, width, t.ids)
	c.drop(counts)
	live := c.readInt64(t.starts, t.ids)
	if live == t.table.distinct {
		t.list = c.temp(int64(width) * live)
		c.launch("join", "join_place", c.strided(t.rows), t.slots, t.wide, t.starts, t.list, boolArg(width == 8), t.rows)
		return live
	}
	slotWidth := slotBytes(t.table.capacity)
	order := c.temp(slotWidth * t.rows)
	c.launch("join", "join_order", c.strided(t.rows), t.slots, t.wide, uint64(t.ids), order, t.rows)
	bitsOfSlots := bits.Len64(uint64(t.ids))
	if slotWidth == 8 {
		bitsOfSlots = max(bitsOfSlots, 33) // words of 64 bits
	}
	t.list = c.sortRows(order, bitsOfSlots, nil, width, t.rows)
	return live
}

// Rows is the number of rows that the table was built of.
func (t *joinTable) Rows() int64 { return t.rows }

// Release gives the table back.
func (t *joinTable) Release() {
	t.space.release()
	for _, b := range t.buffers() {
		b.Release()
	}
}

// buffers is what the table holds beyond the call that made it, beside the space.
func (t *joinTable) buffers() []*memory.Buffer {
	all := []*memory.Buffer{t.slots, t.starts, t.list}
	if t.parts != nil {
		return append(all, t.parts.buffers()...)
	}
	return append(all, t.table.buffers()...)
}

// found is what is known of the keys of n left rows: their ids, and which rows
// they are, in order without that.
type found struct {
	slots, order *memory.Buffer
	orderWide    int32
	n            int64
}

// Probe finds the pairs: see kernels.JoinTable. It counts the pairs of each left
// row, whose prefix sums say where they go, and then writes them.
func (t *joinTable) Probe(ctx context.Context, s device.Stream, keys []*memory.Column, kind kernels.JoinKind, o kernels.JoinOptions) (_ *kernels.Pairs, err error) {
	c := t.e.begin(ctx, s)
	defer c.end(&err)
	semi := kind == kernels.SemiJoin || kind == kernels.AntiJoin
	least := uint64(flag(kind == kernels.LeftJoin || kind == kernels.FullJoin))
	rows := c.keysIn(t.space, keys)
	var f found
	switch {
	case !c.ok():
	case t.parts != nil:
		f = c.findParts(t, rows, o.AnyOrder && !semi, least == 1)
	default:
		f = found{slots: c.find(t.table, rows), n: rows.n}
	}
	if !c.ok() {
		return nil, c.err
	}
	if semi {
		flags := c.temp(bitBytes(rows.n))
		c.launch("join", "join_rows", c.strided(rows.n), f.slots, t.wide, null(), uint32(flag(kind == kernels.SemiJoin)), flags, rows.n)
		left := c.joinSide(flags, rows.n, o)
		return c.pairs(left, nil)
	}
	outer := kind == kernels.RightJoin || kind == kernels.FullJoin
	var met *memory.Buffer
	if outer {
		met = c.zeroed(bitBytes(t.ids))
	}
	counts := c.temp(8 * f.n)
	c.launch("join", "join_matches", c.strided(f.n), f.slots, t.wide, pointer(t.starts), least, counts, pointer(met), f.n)
	at := c.prefix(counts, 8, f.n)
	c.drop(counts)
	inner := c.readInt64(at, f.n)
	var tail *memory.Buffer
	var unmatched int64
	if outer {
		flags := c.temp(bitBytes(t.rows))
		c.launch("join", "join_rows", c.strided(t.rows), pointer(t.slots), t.wide, met, uint32(0), flags, t.rows)
		tail, unmatched = c.compact(vector{flags, 0}, t.rows, rowWidth(t.rows))
	}
	if !c.ok() {
		return nil, c.err
	}
	if err := o.Check(inner + unmatched); err != nil {
		return nil, err
	}
	left, right := c.joinPairs(t, joined{f, at, tail, inner, inner + unmatched, rows.n}, least == 1, outer)
	return c.pairs(left, right)
}

// joinSide is the rows whose bit is set, as the left side of a semi join.
func (c *call) joinSide(flags *memory.Buffer, n int64, o kernels.JoinOptions) *memory.Column {
	kept := c.keep(vector{flags, 0}, vector{}, false, n)
	if !c.ok() {
		return nil
	}
	c.fail(o.Check(kept.count))
	t := kernels.IndexType(n)
	out := c.result(int64(memory.Width(t)) * kept.count)
	numbers := c.keptRows(kept, memory.Width(t))
	c.copy(out, 0, numbers, 0, int64(memory.Width(t))*kept.count)
	return c.column(memory.Parts{Type: t, Len: kept.count, Buffers: []*memory.Buffer{nil, out}})
}

// joined is what a probe found: beside the ids where the pairs of each begin, the
// right rows that stand behind the inner pairs, and the number of left rows.
type joined struct {
	found
	at, tail           *memory.Buffer
	inner, total, left int64
}

// joinPairs writes the pairs. rightNull and leftNull say which side may be null.
func (c *call) joinPairs(t *joinTable, j joined, rightNull, leftNull bool) (left, right *memory.Column) {
	lt, rt := kernels.IndexType(j.left), kernels.IndexType(t.rows)
	side := func(width int) (*memory.Buffer, int32) { return c.result(int64(width) * j.total), boolArg(width == 8) }
	l, lWide := side(memory.Width(lt))
	r, rWide := side(memory.Width(rt))
	var lValid, rValid *memory.Buffer
	if rightNull {
		rValid = c.result(bitBytes(j.total))
	}
	if leftNull {
		lValid = c.result(bitBytes(j.total))
		c.launch("scan", "scan_keep", groupsFor(j.total, 32*group), j.inner, lValid, j.total)
	}
	c.launch("join", "join_pairs", groupsFor(j.total, 4*group), j.at, j.slots, t.wide, pointer(t.starts), pointer(t.list),
		boolArg(rowWidth(t.rows) == 8), pointer(j.order), j.orderWide, j.inner, pointer(j.tail), l, lWide, r, rWide, pointer(rValid), j.n, j.total)
	left = c.column(memory.Parts{Type: lt, Len: j.total, Nulls: memory.UnknownNulls, Buffers: []*memory.Buffer{lValid, l}})
	right = c.column(memory.Parts{Type: rt, Len: j.total, Nulls: memory.UnknownNulls, Buffers: []*memory.Buffer{rValid, r}})
	return left, right
}

// pairs hands the two sides to the caller, unless the call failed.
func (c *call) pairs(left, right *memory.Column) (*kernels.Pairs, error) {
	if !c.ok() {
		return nil, c.err
	}
	return &kernels.Pairs{Left: c.give(left), Right: c.give(right)}, nil
}

// cross is the GPU's CrossFunc.
func (e *Engine) cross(ctx context.Context, s device.Stream, leftFrom, left, right int64) (_ *kernels.Pairs, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	total := left * right
	lt, rt := kernels.IndexType(leftFrom+left), kernels.IndexType(right)
	l, r := c.result(int64(memory.Width(lt))*total), c.result(int64(memory.Width(rt))*total)
	c.launch("join", "cross_pairs", c.strided(total), leftFrom, right, l, boolArg(memory.Width(lt) == 8), r, boolArg(memory.Width(rt) == 8), total)
	lc := c.column(memory.Parts{Type: lt, Len: total, Buffers: []*memory.Buffer{nil, l}})
	rc := c.column(memory.Parts{Type: rt, Len: total, Buffers: []*memory.Buffer{nil, r}})
	return c.pairs(lc, rc)
}
