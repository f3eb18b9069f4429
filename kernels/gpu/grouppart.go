package gpu

import (
	"encoding/binary"
	"math/bits"

	"github.com/volley-go/volley/memory"
)

const (
	// groupTableMost is the number of slots up to which one table holds all
	// keys: 32 MiB, what a card's cache has room for.
	groupTableMost = 1 << 21
	// groupPartRows is about how many rows a part has, half the slots that
	// grouppart.cl has for its keys.
	groupPartRows = 1 << 10
	// groupPartMost is how many rows of a part are left to one work-group. With
	// more of one key or part the others would wait for it.
	groupPartMost = 1 << 16
)

// groupParts is groups found part by part: see grouppart.cl.
type groupParts struct {
	leaders *memory.Buffer // the first row of each row's group; nil where it was not wanted
	marks   *memory.Buffer // a bit for each first row
	before  *memory.Buffer // the bits before each word of marks
	nullRow *memory.Buffer // the first row that is not live, all ones without
	live    vector
	nulls   bool
	n       int64 // groups
}

// groupParts groups keys of one word of fewer than 2^32 rows, by parts. It is
// nil where the parts are too uneven.
func (c *call) groupParts(rows keyRows, nulls, ids bool) *groupParts {
	g := &groupParts{live: rows.live, nulls: nulls, nullRow: c.temp(4)}
	c.fill(g.nullRow, 0xff)
	by := c.keyParts(rows, max(bits.Len64(uint64(rows.n/groupPartRows)), 8))
	state := c.zeroed(8)
	c.launch("grouppart", "grouppart_most", c.strided(by.parts()), by.begins, by.parts(), state)
	if most := binary.LittleEndian.Uint64(c.read(state, 0, 8)); !c.ok() || most > groupPartMost {
		c.drop(by.hashes)
		c.drop(by.order)
		c.drop(by.begins)
		return nil
	}
	if nulls && rows.live.buffer != nil {
		c.launch("grouppart", "grouppart_dead", c.strided(rows.n), rows.live, g.nullRow, rows.n)
	}
	words := (rows.n + 31) / 32
	g.marks = c.zeroed(4 * words)
	leaders := null()
	if ids {
		g.leaders = c.temp(4 * rows.n)
		leaders = g.leaders
	}
	c.fill(state, 0)
	c.launch("grouppart", "grouppart_rows", c.partGroups(by), by.hashes, by.order, by.begins, by.parts(), leaders, g.marks, state)
	c.drop(by.hashes)
	c.drop(by.order)
	if nulls {
		c.launch("grouppart", "grouppart_null", 1, g.nullRow, g.marks)
	}
	bitsOf := c.temp(4 * words)
	c.launch("group", "group_count", c.strided(words), g.marks, bitsOf, words)
	g.before = c.prefix(bitsOf, 4, words)
	c.drop(bitsOf)
	g.n = c.readInt64(g.before, words)
	if binary.LittleEndian.Uint32(c.read(state, 0, 4)) != 0 {
		return nil
	}
	return g
}

// firstRows writes the first row of each group.
func (g *groupParts) firstRows(c *call, n int64, first *memory.Buffer) {
	words := (n + 31) / 32
	c.launch("grouppart", "grouppart_first", c.strided(words), g.marks, g.before, first, words)
}

// ids writes the group of each of n rows.
func (g *groupParts) ids(c *call, n int64, ids *memory.Buffer) {
	c.launch("grouppart", "grouppart_ids", c.strided(n), g.leaders, g.live, boolArg(g.nulls), g.nullRow, g.marks, g.before, ids, n)
}
