package gpu

import (
	"encoding/binary"
	"math/bits"

	"github.com/volley-go/volley/memory"
)

// joinTuning says when a join goes by parts and how large these are.
type joinTuning struct {
	tableMost int64 // slots of 16 bytes up to which one table holds all keys of the right side
	partRows  int64 // right rows that a part has on average, at most
	partMost  int64 // right rows up to which a part's table is in local memory: joinpart.cl has room for 2047
}

// With 1600 rows a part is 11 standard deviations away from too many, so that
// only keys that come often fill one up.
var defaultJoins = joinTuning{tableMost: groupTableMost, partRows: 1600, partMost: 2047}

// joinLeast is the left rows that one work-group of joinpart_find takes at
// least, joinTile those that it takes where there are enough for the device.
const (
	joinLeast = 256
	joinTile  = 4096
)

// JoinParts lets a join go by parts where one table of the right side's keys
// would need more than `slots` slots of 16 bytes (a power of two), in parts of
// at most `rows` rows on average; parts of more than `most` (up to 2047) are left
// to a table in global memory.
func JoinParts(slots, rows, most int64) Option {
	return func(e *Engine) { e.joins = joinTuning{slots, max(rows, 1), min(most, defaultJoins.partMost)} }
}

// joinParts is the right side of a join in parts: see joinpart.cl. A key's id is
// its place in keys. Behind the ids of the parts' keys comes that of null, and
// then the slots of rest.
type joinParts struct {
	rows   keyRows // of the right side, without words where hashes do
	by     *keyParts
	keys   *memory.Buffer // hashes of the keys by id
	order  *memory.Buffer // rows by id, where no key has two
	counts *memory.Buffer // keys of each part; nil where each row has its own
	nulls  bool           // null is a key
	over   *memory.Buffer // a bit for each part whose rows are in rest; nil without such
	rest   *keyTable
}

// joinPartBits is the number of bits for parts of at most `rows` of n rows.
func joinPartBits(n, rows int64) int { return max(bits.Len64(uint64((n-1)/rows)), 1) }

// joinByParts makes the built side of parts. Where every live row has a key of
// its own the sorted rows are all that there is to it: beside the sort 8 bytes a
// row are read. Else 12 more are read and 24 written. Parts with more rows than
// local memory has room for, which a key of many rows makes, are put into one
// table in global memory, whose slots are ids behind the others. It waits for
// the stream once more than keyParts does, and three times for such a table.
func (c *call) joinByParts(t *joinTable, rows keyRows, nulls bool) {
	tuning := c.e.joins
	by := c.keyParts(rows, joinPartBits(rows.n, tuning.partRows))
	p := &joinParts{rows: rows, by: by, keys: by.hashes, order: by.order, nulls: nulls && by.n < rows.n}
	if rows.k == 1 {
		p.rows.words = vector{}
	}
	t.parts, t.ids, t.wide = p, rows.n, boolArg(by.width == 8)
	over, state := c.zeroed(bitBytes(by.parts())), c.zeroed(8)
	module := rows.joinModule()
	args := append(rows.args(rows), by.hashes, by.order, boolArg(by.width == 8), by.begins, by.parts())
	c.launch(module, "joinpart_check", c.partGroups(by), append(args, tuning.partMost, over, state)...)
	found := c.read(state, 0, 8)
	c.drop(state)
	twice, large := binary.LittleEndian.Uint32(found) != 0, binary.LittleEndian.Uint32(found[4:]) != 0
	if !c.ok() || !twice && !large && !p.nulls {
		c.drop(over)
		return
	}

	null := by.n // the id
	var rest joinTable
	var dead, restRows, slotsOfRest int64
	if large {
		p.over = over
		some := rows
		some.live = vector{c.over(rows, by, over), 0}
		p.rest, rest.slots = c.buildTable(some, tableOptions{count: true})
		if !c.ok() {
			return
		}
		rest.rows, rest.table, rest.ids, rest.wide = rows.n, p.rest, p.rest.size(), boolArg(p.rest.wide())
		restRows, slotsOfRest = c.joinLists(&rest), rest.ids
	}
	width := int64(by.width)
	var deadRows *memory.Buffer
	if p.nulls {
		deadRows, dead = c.dead(rows, by.width)
	}
	t.ids = null + 1 + slotsOfRest
	slotWidth := slotBytes(t.ids)
	t.wide = boolArg(slotWidth == 8)
	t.starts, t.list, t.slots = c.temp(8*(t.ids+1)), c.temp(width*(by.n+dead+restRows)), c.temp(slotWidth*rows.n)
	if !c.ok() {
		return
	}
	c.launch("rows.u64", "rows_iota", c.strided(null+1), t.starts, null+1)
	c.launch("join", "join_append", c.strided(slotsOfRest+1), pointer(rest.starts), uint64(by.n+dead), t.starts, null+1, slotsOfRest)
	c.fill(t.slots, 0xff)
	p.keys, p.counts, p.order = c.temp(8*by.n), c.temp(4*by.parts()), nil
	c.launch(module, "joinpart_lay", c.partGroups(by), append(args, over, p.keys, t.starts, p.counts, t.list, t.slots, t.wide)...)
	if dead > 0 {
		c.copy(t.list, width*by.n, deadRows, 0, width*dead)
		c.launch("join", "join_null", c.strided(rows.n), rows.live, uint64(null), t.slots, t.wide, rows.n)
	}
	if large {
		c.copy(t.list, width*(by.n+dead), rest.list, 0, width*restRows)
		c.launch("join", "join_merge", c.strided(rows.n), rest.slots, rest.wide, uint64(null+1), t.slots, t.wide, rows.n)
	}
}

// dead is the rows that are not live.
func (c *call) dead(rows keyRows, width int) (*memory.Buffer, int64) {
	if rows.live.buffer == nil {
		return nil, 0
	}
	flags := c.temp(bitBytes(rows.n))
	c.launch("bits", "bits_not", groupsFor(rows.n, 32*group), rows.live, flags, rows.n)
	return c.compact(vector{flags, 0}, rows.n, width)
}

// joinModule is the module of joins by parts for keys like these.
func (rows keyRows) joinModule() string {
	switch {
	case rows.text:
		return "joinpart.text"
	case rows.k == 1:
		return "joinpart.word"
	default:
		return "joinpart.words"
	}
}

// partGroups is the number of groups that stride over parts.
func (c *call) partGroups(p *keyParts) int64 { return min(p.parts(), c.strided(p.parts()*group)) }

// findParts gives the id of the key of each left row: in the rows' order, or
// with any, where that is all that there is to do, in the order of the parts, of
// live rows only. With all every row must be there.
func (c *call) findParts(t *joinTable, rows keyRows, any, all bool) found {
	p := t.parts
	dead := rows.live.buffer != nil
	byRow := !any || p.rest != nil || dead && (all || p.nulls)
	left := c.keyParts(rows, p.by.bits)
	f := found{n: left.n, order: left.order, orderWide: boolArg(left.width == 8)}
	if byRow {
		f.n = rows.n
	}
	width := int64(4)
	if t.wide != 0 {
		width = 8
	}
	f.slots = c.temp(width * f.n)
	if byRow && (dead || p.rest != nil) {
		c.fill(f.slots, 0xff)
	}
	tile := int64(joinTile)
	for tile > joinLeast && groupsFor(left.n, tile) < c.strided(left.n) {
		tile /= 2
	}
	list, listWide := t.list, boolArg(rowWidth(t.rows) == 8)
	if t.starts == nil {
		list = p.order
	}
	c.launch(rows.joinModule(), "joinpart_find", groupsFor(left.n, tile), append(rows.args(p.rows), left.hashes, left.order, f.orderWide, left.begins,
		left.mask(), left.shift(), tile, p.by.begins, p.keys, pointer(p.counts), pointer(t.starts), list, listWide, boolArg(byRow), f.slots, t.wide, left.n)...)
	c.drop(left.hashes)
	c.drop(left.begins)
	if byRow {
		c.drop(left.order)
		f.order = nil
	}
	if dead && p.nulls {
		c.launch("join", "join_null", c.strided(rows.n), rows.live, uint64(p.by.n), f.slots, t.wide, rows.n)
	}
	if p.rest != nil {
		some := rows
		some.live = vector{c.over(rows, p.by, p.over), 0}
		slots := c.find(p.rest, some)
		c.launch("join", "join_merge", c.strided(rows.n), slots, boolArg(p.rest.wide()), uint64(p.by.n+1), f.slots, t.wide, rows.n)
		c.drop(slots)
		c.drop(some.live.buffer)
	}
	return f
}

// buffers is what the parts hold beyond the call that made them.
func (p *joinParts) buffers() []*memory.Buffer {
	all := []*memory.Buffer{p.rows.words.buffer, p.rows.offsets.buffer, p.rows.bytes.buffer, p.by.begins, p.keys, p.order, p.counts, p.over}
	if p.rest != nil {
		all = append(all, p.rest.buffers()...)
	}
	return all
}
