package gpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// grouping is the distinct keys among rows: a table with the number of its
// group in every slot.
type grouping struct {
	table *keyTable
	slots *memory.Buffer // of each row; nil where they were not wanted
	parts *groupParts    // in place of the table, where that would be too large
	live  vector         // rows that are not dropped
	first *memory.Column // owned by the call
	n     int64          // groups
	rows  int64
}

// groupKeys finds the distinct keys; with ids also the group of each row can be
// asked for.
func (c *call) groupKeys(keys []*memory.Column, o kernels.GroupOptions, ids bool) *grouping {
	_, rows := c.keySpaceOf(keys, o.DropNullKeys, false)
	g := &grouping{rows: rows.n}
	if o.DropNullKeys {
		g.live = rows.live
	}
	want := tableOptions{nulls: !o.DropNullKeys, first: true, count: true, bare: !ids}
	if !rows.text && rows.k == 1 && rows.n < 1<<32 {
		want.most = groupTableMost
	}
	if g.table, g.slots = c.buildTable(rows, want); g.table == nil && c.ok() {
		if g.parts = c.groupParts(rows, want.nulls, ids); g.parts == nil {
			want.most, want.least = 0, 16*groupTableMost
			g.table, g.slots = c.buildTable(rows, want)
		}
	}
	if !c.ok() {
		return g
	}
	t := kernels.IndexType(rows.n)
	width := memory.Width(t)
	if g.parts != nil {
		g.n = g.parts.n
	} else {
		g.n = g.table.distinct
	}
	first := c.result(int64(width) * g.n)
	switch {
	case g.parts != nil:
		g.parts.firstRows(c, rows.n, first)
	case o.AnyOrder:
		size := g.table.size()
		c.launch("group", "group_number_any", c.strided(size), g.table.slots, size, c.zeroed(8), first, boolArg(width == 8))
	default:
		c.numberGroups(g.table, rows.n, first, boolArg(width == 8))
	}
	g.first = c.column(memory.Parts{Type: t, Len: g.n, Buffers: []*memory.Buffer{nil, first}})
	return g
}

// numberGroups numbers the groups of a table by their first rows, of n.
func (c *call) numberGroups(t *keyTable, n int64, first *memory.Buffer, wide int32) {
	words, size := (n+31)/32, t.size()
	marks, counts := c.zeroed(4*words), c.temp(4*words)
	c.launch("group", "group_mark", c.strided(size), t.slots, size, marks)
	c.launch("group", "group_count", c.strided(words), marks, counts, words)
	before := c.prefix(counts, 4, words)
	c.launch("group", "group_number", c.strided(size), t.slots, size, marks, before, first, wide)
	c.drop(counts)
	c.drop(marks)
	c.drop(before)
}

// countDistinct is the number of distinct values of a column that are not null.
func (c *call) countDistinct(col *memory.Column) int64 {
	_, rows := c.keySpaceOf([]*memory.Column{col}, true, false)
	t, _ := c.buildTable(rows, tableOptions{count: true, bare: true})
	return t.distinct
}

// groupIDs is the group of each row, null for rows dropped.
func (c *call) groupIDs(g *grouping) *memory.Column {
	t := kernels.IndexType(g.rows)
	width := int64(memory.Width(t))
	ids := g.slots
	if g.parts != nil {
		ids = g.parts.leaders
	}
	if g.table != nil && g.table.wide() != (width == 8) {
		ids = c.result(width * g.rows)
	} else {
		c.promote(ids) // it is overwritten in place
	}
	if g.parts != nil {
		g.parts.ids(c, g.rows, ids)
	} else {
		c.launch("group", "group_ids", c.strided(g.rows), g.slots, boolArg(g.table.wide()), g.table.slots, ids, boolArg(width == 8), g.rows)
		c.drop(g.table.slots)
	}
	p := memory.Parts{Type: t, Len: g.rows, Buffers: []*memory.Buffer{nil, ids}}
	if g.live.buffer != nil {
		p.Nulls, p.Buffers[0] = memory.UnknownNulls, c.copyBits(g.live, g.rows)
	}
	return c.column(p)
}

// group is the GPU's GroupFunc.
func (e *Engine) group(ctx context.Context, s device.Stream, keys []*memory.Column, o kernels.GroupOptions) (_ *kernels.Groups, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	g := c.groupKeys(keys, o, true)
	if !c.ok() {
		return nil, c.err
	}
	ids := c.groupIDs(g)
	if !c.ok() {
		return nil, c.err
	}
	return &kernels.Groups{IDs: c.give(ids), First: c.give(g.first), N: g.n}, nil
}

// unique is the GPU's UniqueFunc.
func (e *Engine) unique(ctx context.Context, s device.Stream, keys []*memory.Column, o kernels.GroupOptions) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	g := c.groupKeys(keys, o, false)
	if !c.ok() {
		return nil, c.err
	}
	return c.give(g.first), nil
}

// isIn is the GPU's IsInFunc: the set becomes a table, in which the values are
// looked up.
func (e *Engine) isIn(ctx context.Context, s device.Stream, col, set *memory.Column) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	space, members := c.keySpaceOf([]*memory.Column{set}, false, true)
	t, _ := c.buildTable(members, tableOptions{nulls: true, bare: true})
	rows := c.keysIn(space, []*memory.Column{col})
	slots := c.find(t, rows)
	n := col.Len()
	out := c.result(bitBytes(n))
	c.launch("group", "group_found", c.strided(n), slots, boolArg(t.wide()), out, n)
	return c.give(c.column(memory.Parts{Type: arrow.FixedWidthTypes.Boolean, Len: n, Buffers: []*memory.Buffer{nil, out}})), c.err
}
