package cpu

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// textKey is a string's length and its first and last eight bytes, which is
// the whole of one of up to 16 bytes. A table of groups keeps that of each, so
// that a lookup stays within the table: the text of a group's first row lies
// somewhere in the column, a miss of the caches for every row.
type textKey struct {
	low, high uint64
	n         uint64
}

// nullText is the length of null, below 0 so that one comparison finds it and short
// texts.
const nullText = ^uint64(0)

// or is the key where keep is all ones, and that of null where it is 0.
func (k textKey) or(keep uint64) textKey {
	return textKey{k.low & keep, k.high & keep, k.n&keep | nullText&^keep}
}

// wholeText is the longest text that is all in its key.
const wholeText = 16

func textKeyOf(p []byte) textKey {
	n := uint64(len(p))
	switch {
	case n >= 8:
		return textKey{binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[n-8:]), n}
	case n >= 4:
		return textKey{uint64(binary.LittleEndian.Uint32(p)), uint64(binary.LittleEndian.Uint32(p[n-4:])), n}
	case n > 0:
		return textKey{uint64(p[0])<<16 | uint64(p[n/2])<<8 | uint64(p[n-1]), 0, n}
	}
	return textKey{}
}

// textInserter is how a table of a single column of strings inserts; nil for
// other keys.
func textInserter(ks *keyspace) func(g *grouper, b *batch) error {
	if len(ks.cols) != 1 || ks.exact {
		return nil
	}
	switch ks.cols[0].c.Type().ID() {
	case arrow.STRING, arrow.BINARY:
		return insertTexts[int32]
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return insertTexts[int64]
	}
	return nil
}

func insertTexts[T int32 | int64](g *grouper, b *batch) error {
	c := g.ks.cols[0].c
	offsets, bytes, valid, off := memory.Offsets[T](c), bytesOf(c), c.Validity(), c.Offset()
	g.heads(b)
	begin, end := T(0), T(0)
	for j, w := range b.words[:b.n] {
		row := b.row(j)
		var key textKey
		if valid == nil {
			key = textKeyOf(bytes[offsets[row]:offsets[row+1]])
		} else { // of null the text before, whose key is not used, so that there is no branch for nulls
			i := uint64(off) + uint64(row)
			keep := -uint64(valid[i>>3] >> (i & 7) & 1)
			begin = begin&^T(keep) | offsets[row]&T(keep)
			end = end&^T(keep) | offsets[row+1]&T(keep)
			key = textKeyOf(bytes[begin:end]).or(keep)
		}
		if id := b.group[j]; id != 0 && g.texts.s[id-1] == key && (key.n+1 <= wholeText+1 || g.same(row, g.firsts.s[id-1])) {
			b.ids[j] = id - 1
			continue
		}
		for i := mix(w) & g.mask; ; i = (i + 1) & g.mask {
			s := &g.slots.s[i]
			if s.id == 0 {
				id, err := g.add(s, w, row)
				if err == nil {
					err = g.addText(id, key)
				}
				if err != nil {
					return err
				}
				b.ids[j] = id
				break
			}
			if s.word == w && g.texts.s[s.id-1] == key && (key.n+1 <= wholeText+1 || g.same(row, s.first)) {
				b.ids[j] = s.id - 1
				break
			}
		}
	}
	return nil
}

// addText notes the key of a new group.
func (g *grouper) addText(id uint32, key textKey) error {
	if int(id) >= len(g.texts.s) {
		if err := g.texts.grow(g.a, max(1<<10, 2*int(id))); err != nil {
			return err
		}
	}
	g.texts.s[id] = key
	return nil
}
