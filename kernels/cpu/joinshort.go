package cpu

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/memory"
)

// shortTexts are built keys that are texts of up to shortText bytes, as two words
// each: whether a candidate is the right one is then one access to memory, and the
// left texts, whose words a loop makes beside their hashes, are not read again.
type shortTexts struct {
	l     *loops
	words vec[[2]uint64]
}

// mostShort is how many keys are kept so: 64 MiB.
const mostShort = 1 << 22

// shorten keeps the words of built keys where these are short texts, or null.
func (t *joinIndex) shorten(ctx context.Context, a *arena, l *loops) error {
	c := t.ks.cols[0].c
	if len(t.ks.cols) > 1 || t.slots.b == nil || t.length == 0 || t.length > mostShort {
		return nil
	}
	var read func(from int64, words [][2]uint64, hashes []uint64) bool
	switch c.Type().ID() {
	case arrow.STRING, arrow.BINARY:
		read = newTextReader[int32](l, c).read
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		read = newTextReader[int64](l, c).read
	default:
		return nil
	}
	words, err := newVec[[2]uint64](a, int(t.length))
	if err != nil {
		return err
	}
	long := make([]bool, morsels(t.length))
	err = parallel(ctx, t.length, func(_ int, s span) error {
		var hashes [batchRows]uint64
		for from := s.from; from < s.to && !long[s.index]; from += batchRows {
			n := min(batchRows, s.to-from)
			long[s.index] = !read(from, words.s[from:from+n], hashes[:n])
		}
		return nil
	})
	for _, some := range long {
		if some || err != nil {
			a.drop(words.b)
			return err
		}
	}
	t.short = &shortTexts{l: l, words: words}
	return err
}

// shortFinder reads the left texts.
type shortFinder struct {
	built [][2]uint64
	read  func(from int64, words [][2]uint64, hashes []uint64) bool
	rooms shortStash
	nulls *memory.Column // the texts, where some may be null and these match nothing
}

// shortRoom is the words of a batch.
type shortRoom struct {
	words  [batchRows][2]uint64
	hashes [batchRows]uint64
}

// shortStash is as batchStash.
type shortStash struct{}

var shortPool = sync.Pool{New: func() any { return new(shortRoom) }}

func (shortStash) get() (*shortRoom, error) { return shortPool.Get().(*shortRoom), nil }
func (shortStash) put(r *shortRoom)         { shortPool.Put(r) }

// bind readies the words to be looked for by texts; nil for others. Where drop is
// set null matches nothing.
func (s *shortTexts) bind(c *memory.Column, drop bool) *shortFinder {
	if s == nil {
		return nil
	}
	f := &shortFinder{built: s.words.s}
	if drop && c.MayHaveNulls() {
		f.nulls = c
	}
	switch c.Type().ID() {
	case arrow.STRING, arrow.BINARY:
		r := newTextReader[int32](s.l, c)
		r.null, f.read = hashedNull&slots.Kept, r.read
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		r := newTextReader[int64](s.l, c)
		r.null, f.read = hashedNull&slots.Kept, r.read
	default:
		return nil
	}
	return f
}

// findTexts is find for a batch of rows in order. It is not done where a text of
// the batch is longer than all that are looked for.
func (f *joinFinder) findTexts(b *batch) bool {
	if b.rows != nil {
		return false
	}
	room, _ := f.texts.rooms.get()
	defer f.texts.rooms.put(room)
	words, hashes := room.words[:b.n], room.hashes[:b.n]
	if !f.texts.read(int64(b.from), words, hashes) {
		return false
	}
	for j, h := range hashes {
		b.words[j] = mix(h) // as a keyspace makes words of hashes
	}
	found, _ := f.rooms.get()
	defer f.rooms.put(found)
	f.seek(b, found)
	if f.texts.nulls != nil {
		leaveNulls(b, f.texts.nulls)
	}
	built, ids := f.texts.built, b.ids[:b.n]
	for j, row := range f.candidates(b, found) {
		w, k, id := &words[j], &built[row], ids[j]
		is := -uint64((id | -id) >> 31) // all ones where there is a candidate: no branch foretells which rows have one
		if (w[0]^k[0]|w[1]^k[1])&is != 0 {
			f.again(b, j)
		}
	}
	return true
}

// leaveNulls makes the ids of null rows of a batch in order 0, without a branch for
// a row.
func leaveNulls(b *batch, c *memory.Column) {
	for at := 0; at < b.n; at += 64 {
		n := min(64, b.n-at)
		valid := validWord(c, int64(b.from)+int64(at), int64(n))
		for j := range b.ids[at : at+n] {
			b.ids[at+j] &= -uint32(valid >> uint(j&63) & 1)
		}
	}
}
