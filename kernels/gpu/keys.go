package gpu

import (
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// How a value is read: KEY_… of keys.h.
const (
	keyBit int32 = iota
	key8
	key16
	key32
	key64
	keyF32
	keyF64
	keyLow
	keyHigh
	keyNone
)

// keyRows are the keys of rows as words of 64 bits, which are equal exactly
// where the keys are: row i has the k words from words.at + i*k on. A row that
// is not live has no words: it is dropped, or null is its key. Of a column of
// texts that is the only key the words are hashes, and the bytes decide.
type keyRows struct {
	n, k           int64
	words, live    vector
	text           bool
	offsets, bytes vector // of a text
	wide           int32  // 1 where its offsets have 8 bytes
}

// keySpace is how the columns of keys are laid out in words. It is made from
// the rows that a table is built of; rows that are looked up in it are encoded
// in the same space.
//
// Values, codes of texts and null bits are packed as tightly as words of 64
// bits allow, so that keys of up to 64 bits are one word. One column alone has
// no null bit: null is a slot of its own in the table.
type keySpace struct {
	parts     []keyPart
	k         int64
	dropNulls bool
}

// keyPart is the place of one column.
type keyPart struct {
	texts       *keyTable // the table whose slots stand for texts
	bits        int
	word, shift int // of the value; 128 bits take all of word and word+1
	null        int // the bit of a null, counted over all words; -1 without
}

// keySpaceOf lays out the columns of keys and encodes their rows. With
// dropNulls rows with a null in any key are not live; else null is a value like
// others, and maybeNull says that rows to be looked up may have nulls where
// these have none.
func (c *call) keySpaceOf(keys []*memory.Column, dropNulls, maybeNull bool) (*keySpace, keyRows) {
	s := &keySpace{dropNulls: dropNulls, parts: make([]keyPart, len(keys))}
	if len(keys) == 1 && isText(keys[0].Type()) {
		s.k = 1
		s.parts[0] = keyPart{bits: 64, null: -1}
		return s, c.textRows(keys[0])
	}
	sources := make([]keySource, len(keys))
	for i, col := range keys {
		p := &s.parts[i]
		p.null = -1
		sources[i] = c.keySource(p, col)
		if len(keys) > 1 && !dropNulls && (maybeNull || sources[i].valid.buffer != nil) {
			p.null = 0 // given a place below
		}
	}
	s.place()
	return s, c.packKeys(s, sources, keys[0].Len())
}

// keysIn encodes rows in a space that was made of others. A text that the
// space's rows have not got becomes a code that none of them has.
func (c *call) keysIn(s *keySpace, keys []*memory.Column) keyRows {
	if len(keys) == 1 && isText(keys[0].Type()) {
		return c.textRows(keys[0])
	}
	sources := make([]keySource, len(keys))
	for i, col := range keys {
		sources[i] = c.keySource(&s.parts[i], col)
	}
	return c.packKeys(s, sources, keys[0].Len())
}

// place gives every value and null bit its place: the widest first, each in the
// first word that has room.
func (s *keySpace) place() {
	var room []int // bits that are left in each word
	find := func(need int) int {
		for w, left := range room {
			if left >= need {
				return w
			}
		}
		room = append(room, 64)
		return len(room) - 1
	}
	order := make([]int, len(s.parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.parts[b].bits - s.parts[a].bits })
	for _, i := range order {
		p := &s.parts[i]
		if p.bits == 128 { // such come first, so that the two words are neighbours
			p.word = len(room)
			room = append(room, 0, 0)
			continue
		}
		if p.bits > 0 {
			p.word = find(p.bits)
			p.shift = 64 - room[p.word]
			room[p.word] -= p.bits
		}
	}
	for i := range s.parts {
		if p := &s.parts[i]; p.null >= 0 {
			w := find(1)
			p.null = 64*w + 64 - room[w]
			room[w]--
		}
	}
	s.k = int64(max(len(room), 1))
}

// keySource is one column as the kernels read it.
type keySource struct {
	kind   int32
	values vector
	high   vector // the upper words of 128 bits, where they are apart
	valid  vector
}

// keySource makes a column readable, and sets the width of its part when that
// is not yet known.
func (c *call) keySource(p *keyPart, col *memory.Column) keySource {
	t := col.Type()
	switch layout := memory.LayoutOf(t); layout {
	case memory.LayoutNull:
		return keySource{kind: keyNone, valid: vector{c.zeroed(bitBytes(col.Len())), 0}}
	case memory.LayoutDictionary:
		return c.keyDictionary(p, col)
	case memory.LayoutBinary, memory.LayoutLargeBinary:
		slots, kind := c.textCodes(p, col)
		return keySource{kind: kind, values: slots, valid: c.validity(col)}
	default:
		kind, width := keyKind(t)
		p.bits = width
		v := keySource{kind: kind, valid: c.validity(col)}
		if layout == memory.LayoutBits {
			v.values = c.bits(col)
		} else {
			v.values = c.values(col, width/8)
		}
		v.high = v.values
		return v
	}
}

// keyKind is how values of a type of fixed width are read, and their bits.
func keyKind(t arrow.DataType) (kind int32, width int) {
	switch t.ID() {
	case arrow.BOOL:
		return keyBit, 1
	case arrow.FLOAT32:
		return keyF32, 32
	case arrow.FLOAT64:
		return keyF64, 64
	}
	width = 8 * memory.Width(t)
	switch width {
	case 0:
		return keyNone, 0
	case 128:
		return keyLow, width
	}
	return key8 + int32(bits.TrailingZeros(uint(width/8))), width
}

// keyDictionary looks up the values of a dictionary's rows.
func (c *call) keyDictionary(p *keyPart, col *memory.Column) keySource {
	return c.dictionaryWords(col, c.keySource(p, col.Dictionary()))
}

// dictionaryWords looks up the words of a dictionary's rows; v is those of the
// dictionary itself.
func (c *call) dictionaryWords(col *memory.Column, v keySource) keySource {
	n := col.Len()
	index, width := keyKind(col.Type().(*arrow.DictionaryType).IndexType)
	valid := c.validity(col)
	out := keySource{kind: key64}
	live := null()
	if valid.buffer != nil || v.valid.buffer != nil {
		out.valid = vector{c.temp(bitBytes(n)), 0}
		live = out.valid.buffer
	}
	look := func(values vector, kind int32, live any) vector {
		to := c.temp(8 * n)
		c.launch("keys", "keys_dictionary", c.strided(n), c.values(col, width/8), index, valid,
			values, kind, v.valid, col.Dictionary().Len(), to, live, n)
		return vector{to, 0}
	}
	out.values = look(v.values, v.kind, live)
	switch v.kind {
	case keyNone:
		out.kind = keyNone
	case keyLow: // each half is a column of words now
		out.high = look(v.high, keyHigh, null())
	}
	return out
}

// packKeys makes the words of rows.
func (c *call) packKeys(s *keySpace, sources []keySource, n int64) keyRows {
	rows := keyRows{n: n, k: s.k}
	if s.dropNulls || len(sources) == 1 {
		rows.live = c.liveRows(sources, n)
	}
	if len(sources) == 1 && sources[0].kind == key64 && s.parts[0].bits == 64 {
		rows.words = sources[0].values // they are words already
		return rows
	}
	words := c.temp(8 * n * s.k)
	rows.words = vector{words, 0}
	for w := range s.k {
		var pieces [][]any
		for i, v := range sources {
			pieces = s.parts[i].pieces(pieces, v, int(w))
		}
		for first := true; first || len(pieces) > 0; first = false {
			args := []any{words, w, s.k, boolArg(!first), n}
			for range 4 {
				if len(pieces) > 0 {
					args = append(args, pieces[0]...)
					pieces = pieces[1:]
				} else {
					args = append(args, vector{}, vector{}, keyNone, int32(1), int32(0), int32(-1))
				}
			}
			c.launch("keys", "keys_pack", c.strided(n), args...)
		}
	}
	return rows
}

// pieces appends what a column has in word w, as arguments of keys_pack.
func (p *keyPart) pieces(to [][]any, v keySource, w int) [][]any {
	value, null := v.kind != keyNone && p.word == w, int32(-1)
	if p.null >= 0 && p.null/64 == w {
		null = int32(p.null % 64)
	}
	switch {
	case p.bits == 128 && p.word == w:
		to = append(to, []any{v.values, v.valid, v.kind, int32(64), int32(0), int32(-1)})
	case p.bits == 128 && p.word+1 == w:
		kind := v.kind
		if kind == keyLow {
			kind = keyHigh
		}
		to = append(to, []any{v.high, v.valid, kind, int32(64), int32(0), int32(-1)})
	case value:
		return append(to, []any{v.values, v.valid, v.kind, int32(p.bits), int32(p.shift), null})
	}
	if null >= 0 && v.valid.buffer != nil {
		to = append(to, []any{vector{}, v.valid, keyNone, int32(1), int32(0), null})
	}
	return to
}

// liveRows are the rows in which no column is null.
func (c *call) liveRows(sources []keySource, n int64) vector {
	var live vector
	for _, v := range sources {
		if v.valid.buffer == nil {
			continue
		}
		if live.buffer == nil {
			live = v.valid
			continue
		}
		both := c.temp(bitBytes(n))
		c.launch("bits", "bits_and", groupsFor(n, 32*group), live, v.valid, both, n)
		live = vector{both, 0}
	}
	return live
}

func boolArg(v bool) int32 {
	if v {
		return 1
	}
	return 0
}
