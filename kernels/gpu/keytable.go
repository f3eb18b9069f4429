package gpu

import (
	"encoding/binary"
	"math/bits"

	"github.com/volley-go/volley/memory"
)

// tableLeast is the number of slots of a table that may have to grow: two MiB of
// them stay in any device's cache while there are few keys.
const tableLeast = 1 << 17

// tableLimit is how many slots a key may be away from its place in a table that
// can still grow.
const tableLimit = 64

// keyTable is a hash table of keys in device memory: see keytable.cl. It lives
// as long as the call, or longer with keep.
type keyTable struct {
	capacity int64          // slots, a power of two, without the two special ones
	slots    *memory.Buffer // 16 bytes each
	nulls    bool           // null is a key
	rows     keyRows        // that it was built of
	distinct int64          // keys; known where tableOptions.count asked for it
}

// tableOptions say what a table is for.
type tableOptions struct {
	nulls bool  // rows that are not live have the key null; else they are left out
	first bool  // keep the first row of each key
	count bool  // count the keys
	bare  bool  // no slots of the rows are wanted
	most  int64 // slots beyond which there is to be no table; 0 is no bound
	least int64 // slots that it begins with, where they are known to be needed
}

// size is the number of slots, the special ones among them.
func (t *keyTable) size() int64 { return t.capacity + 2 }

// wide reports whether slots take 8 bytes a row, not 4.
func (t *keyTable) wide() bool { return slotsWide(t.capacity) }

func slotsWide(capacity int64) bool { return capacity+2 >= 1<<32-1 }

func slotBytes(capacity int64) int64 {
	if slotsWide(capacity) {
		return 8
	}
	return 4
}

// keep holds what the table needs beyond the call that made it, until release.
func (t *keyTable) keep() {
	for _, b := range t.buffers() {
		b.Retain()
	}
}

// release gives back a table that was kept.
func (t *keyTable) release() {
	for _, b := range t.buffers() {
		b.Release()
	}
}

func (t *keyTable) buffers() []*memory.Buffer {
	return []*memory.Buffer{t.slots, t.rows.words.buffer, t.rows.offsets.buffer, t.rows.bytes.buffer}
}

// keep holds the tables of texts that the space needs beyond the call, until
// release.
func (s *keySpace) keep() {
	for _, p := range s.parts {
		if p.texts != nil {
			p.texts.keep()
		}
	}
}

// release gives back a space that was kept.
func (s *keySpace) release() {
	for _, p := range s.parts {
		if p.texts != nil {
			p.texts.release()
		}
	}
}

// module is the module of the kernels for keys like these.
func (rows keyRows) module() string {
	switch {
	case rows.text:
		return "keytable.text"
	case rows.k == 1:
		return "keytable.word"
	default:
		return "keytable.words"
	}
}

// args are the arguments KEYS of the kernels: these rows, and those of a table.
func (rows keyRows) args(there keyRows) []any {
	if rows.text {
		return []any{rows.words, rows.k, rows.offsets, rows.wide, rows.bytes, there.offsets, there.bytes}
	}
	return []any{rows.words, rows.k, there.words}
}

// buildTable makes a table of the keys of rows and gives the slot of each row, 4
// or 8 bytes (wide), all ones where the row was left out. It starts with few
// slots, since few keys are then found in the cache, and where they do not do
// with sixteen times as many, so that all tries together cost little more than
// the last.
func (c *call) buildTable(rows keyRows, o tableOptions) (*keyTable, *memory.Buffer) {
	full := int64(1) << bits.Len64(uint64(max(2*rows.n-1, 15)))
	t := &keyTable{capacity: min(full, max(o.least, tableLeast)), nulls: o.nulls, rows: rows}
	if o.most > 0 {
		t.capacity = min(t.capacity, o.most)
	}
	if rows.text || rows.k == 1 {
		t.rows.words = vector{} // the table has the keys, or their texts have
	}
	for c.ok() {
		limit, most := int64(tableLimit), uint64(t.capacity/2)
		if t.capacity == full {
			limit, most = full, 1<<63 // twice as many slots as rows always do
		}
		t.slots = c.temp(16 * t.size())
		c.fill(t.slots, 0xff)
		state := c.zeroed(16)
		var slots *memory.Buffer
		out := null()
		if !o.bare {
			slots = c.temp(slotBytes(t.capacity) * rows.n)
			out = slots
		}
		args := append(rows.args(rows), rows.live, boolArg(o.nulls), t.slots, t.capacity-1, limit, most, boolArg(o.first),
			out, boolArg(t.wide()), rows.n, state)
		c.launch(rows.module(), "table_insert", c.tableGroups(rows.n), args...)
		if t.capacity == full && !o.count {
			return t, slots
		}
		got := c.read(state, 0, 16)
		if t.distinct = int64(binary.LittleEndian.Uint64(got)); binary.LittleEndian.Uint64(got[8:]) == 0 {
			return t, slots
		}
		c.drop(t.slots)
		c.drop(slots)
		if t.capacity = min(t.capacity*16, full); o.most > 0 && t.capacity > o.most {
			return nil, nil
		}
	}
	return t, nil
}

// tableGroups is the number of groups for kernels whose rows wait for memory
// one by one: all that the device can hold.
func (c *call) tableGroups(n int64) int64 { return min(groupsFor(n, 4*group), c.strided(n)) }

// find gives the slot of the key of each row in a table, 4 or 8 bytes (wide),
// all ones where the table has not got it. The rows must be of the table's
// space.
func (c *call) find(t *keyTable, rows keyRows) *memory.Buffer {
	slots := c.temp(slotBytes(t.capacity) * rows.n)
	args := append(rows.args(t.rows), rows.live, boolArg(t.nulls), t.slots, t.capacity-1, slots, boolArg(t.wide()), rows.n)
	c.launch(rows.module(), "table_find", c.strided(rows.n), args...)
	return slots
}
