package cpu

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/memory"
)

// Where texts are keys and have few values each, a row's texts are made numbers of
// their values first. With these the words of rows are exact and
// narrow, so that groups are found by an array or by words alone, and no text is
// looked at again.

const (
	// mostTexts is how many values a column's texts may have to be numbered: their table
	// stays in the second-level cache.
	mostTexts = 1 << 14
	// triedTexts is of how many rows at the begin of a column no more than a quarter may
	// have a text that was not seen before.
	triedTexts = 4 << 10
)

// textSeen is a place of a table of texts: one of up to shortText bytes as its words,
// a longer one as its hash and longMark with its length. A free place is of no text.
type textSeen struct {
	low, high uint64
	id, first uint32 // its number and its first row
}

const (
	longMark  = 0xfe << 56
	freePlace = 0xff << 56
)

// textNumbers gives texts numbers in the order in which it meets them.
type textNumbers[T int32 | int64] struct {
	t      texts[T]
	read   func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool
	places []textSeen
	firsts []uint32 // the first row of each number
	room   *shortRoom
}

func newTextNumbers[T int32 | int64](l *loops, c *memory.Column) *textNumbers[T] {
	x := &textNumbers[T]{t: textsOf[T](c), read: textWordsOf[T](l), room: shortPool.Get().(*shortRoom)}
	x.resize(slots.First(1 << 10))
	return x
}

// free hands its room on.
func (x *textNumbers[T]) free() { shortPool.Put(x.room) }

// resize makes room for n places.
func (x *textNumbers[T]) resize(n int) {
	old := x.places
	x.places = make([]textSeen, n)
	for i := range x.places {
		x.places[i].high = freePlace
	}
	for _, p := range old {
		if p.high != freePlace {
			hash := p.low
			if p.high < longMark {
				hash = mixText(p.low, p.high)
			}
			for i := hash; ; i++ {
				if to := &x.places[i&uint64(n-1)]; to.high == freePlace {
					*to = p
					break
				}
			}
		}
	}
}

// number writes the numbers of up to batchRows rows. It is not done where there are too
// many.
func (x *textNumbers[T]) number(ids []uint32, from int64) bool {
	words, hashes := x.room.words[:len(ids)], x.room.hashes[:len(ids)]
	if x.read(words, hashes, x.t.offsets[from:from+int64(len(ids))+1], x.t.data, noSlots) {
		mask := uint64(len(x.places) - 1)
		for j := range words {
			w, p := &words[j], &x.places[hashes[j]&mask]
			if p.low == w[0] && p.high == w[1] {
				ids[j] = p.id
				continue
			}
			ids[j] = x.find(w[0], w[1], hashes[j], uint32(from)+uint32(j))
			mask = uint64(len(x.places) - 1)
		}
		return len(x.firsts) <= mostTexts
	}
	for j := range ids {
		row := uint32(from) + uint32(j)
		if p := x.t.at(int64(row)); len(p) <= shortText {
			low, high := shortWords(p)
			ids[j] = x.find(low, high, mixText(low, high), row)
		} else {
			hash := hashText(p)
			ids[j] = x.find(hash, longMark|uint64(len(p))&(1<<56-1), hash, row)
		}
	}
	return len(x.firsts) <= mostTexts
}

// find is the number of a text, the next one where it was not met before.
func (x *textNumbers[T]) find(low, high, hash uint64, row uint32) uint32 {
	mask := uint64(len(x.places) - 1)
	for i := hash; ; i++ {
		p := &x.places[i&mask]
		if p.low == low && p.high == high && (high < longMark || string(x.t.at(int64(row))) == string(x.t.at(int64(p.first)))) {
			return p.id
		}
		if p.high != freePlace {
			continue
		}
		id := uint32(len(x.firsts))
		*p = textSeen{low, high, id, row}
		if x.firsts = append(x.firsts, row); 2*len(x.firsts) > len(x.places) {
			x.resize(4 * len(x.places))
		}
		return id
	}
}

// numberTexts plans the text columns among keys by the numbers of their texts; nil where
// one has too many, or there is none.
func numberTexts(ctx context.Context, a *arena, l *loops, cols []*memory.Column, drop bool) ([]*keyColumn, error) {
	if slices.ContainsFunc(cols, func(c *memory.Column) bool {
		id := c.Type().ID()
		return id == arrow.DECIMAL128 || id == arrow.FLOAT64
	}) {
		return nil, nil // their words leave no room for others
	}
	planned, texts := make([]*keyColumn, len(cols)), 0
	for i, c := range cols {
		var n numberedTexts
		var err error
		switch c.Type().ID() {
		case arrow.STRING, arrow.BINARY:
			n, err = numberColumn[int32](ctx, a, l, c)
		case arrow.LARGE_STRING, arrow.LARGE_BINARY:
			n, err = numberColumn[int64](ctx, a, l, c)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		if n.ids.b == nil {
			for _, k := range planned {
				if k != nil {
					a.drop(k.held)
				}
			}
			return nil, nil
		}
		k := &keyColumn{c: c, drop: drop, nullable: c.MayHaveNulls(), numbers: n.ids.s, held: n.ids.b, encode: encodeNumbers}
		k.span = uint64(max(n.count, 1) - 1)
		k.withNull()
		planned[i] = k
		texts++
	}
	if texts == 0 {
		return nil, nil
	}
	return planned, nil
}

// numberedTexts are the numbers of a column's texts, below count.
type numberedTexts struct {
	ids   vec[uint32]
	count int
}

// numberColumn numbers a column's texts, those under nulls too. There are no ids where
// there are too many texts.
func numberColumn[T int32 | int64](ctx context.Context, a *arena, l *loops, c *memory.Column) (n numberedTexts, err error) {
	first := newTextNumbers[T](l, c)
	defer first.free()
	var ids [batchRows]uint32
	tried := min(triedTexts, c.Len())
	for from := int64(0); from < tried; from += batchRows {
		first.number(ids[:min(batchRows, tried-from)], from)
	}
	if len(first.firsts) > max(int(tried/4), 64) {
		return n, nil
	}
	v, err := newVec[uint32](a, int(c.Len()))
	if err != nil {
		return n, err
	}
	// A table stays with one worker, which takes morsels in rising order.
	given := false
	tables := perWorker[*textNumbers[T]]{make: func() (*textNumbers[T], error) {
		if !given {
			given = true
			return first, nil
		}
		return newTextNumbers[T](l, c), nil
	}}
	defer func() {
		for _, x := range tables.all {
			if x != first {
				x.free()
			}
		}
	}()
	by := make([]*textNumbers[T], morsels(c.Len()))
	var over atomic.Bool
	err = parallel(ctx, c.Len(), func(worker int, s span) error {
		x, _ := tables.of(worker)
		by[s.index] = x
		for from := s.from; from < s.to && !over.Load(); from += batchRows {
			if !x.number(v.s[from:min(from+batchRows, s.to)], from) {
				over.Store(true)
			}
		}
		return nil
	})
	if err == nil && !over.Load() {
		if len(tables.all) <= 1 {
			for _, x := range tables.all {
				n.count = len(x.firsts)
			}
			n.ids = v
			return n, nil
		}
		if n.count, err = uniteTexts(ctx, l, c, v.s, by); err == nil && n.count <= mostTexts {
			n.ids = v
			return n, nil
		}
	}
	a.drop(v.b)
	return numberedTexts{}, err
}

// uniteTexts makes the numbers of several tables those of one, in the order of first
// rows whoever met them.
func uniteTexts[T int32 | int64](ctx context.Context, l *loops, c *memory.Column, ids []uint32, by []*textNumbers[T]) (int, error) {
	var rows []uint32
	maps := map[*textNumbers[T]][]uint32{}
	for _, x := range by {
		if maps[x] == nil {
			maps[x] = make([]uint32, len(x.firsts))
			rows = append(rows, x.firsts...)
		}
	}
	slices.Sort(rows)
	total := newTextNumbers[T](l, c)
	defer total.free()
	var one [1]uint32
	for _, row := range rows {
		total.number(one[:], int64(row))
	}
	for x, to := range maps {
		for i, row := range x.firsts {
			total.number(to[i:i+1], int64(row))
		}
	}
	return len(total.firsts), parallel(ctx, c.Len(), func(_ int, s span) error {
		to, part := maps[by[s.index]], ids[s.from:s.to]
		for i, id := range part {
			part[i] = to[id]
		}
		return nil
	})
}

// encodeNumbers encodes texts that were numbered.
func encodeNumbers(k *keyColumn, b *batch, dst []uint64) (skips bool) {
	switch {
	case k.c.Validity() != nil:
		return k.careful(b, dst, func(row uint32) uint64 { return uint64(k.numbers[row]) })
	case b.rows != nil:
		for j, row := range b.rows[:len(dst)] {
			dst[j] |= uint64(k.numbers[row]) << (k.shift & 63)
		}
	default:
		for j, id := range k.numbers[b.from:][:len(dst)] {
			dst[j] |= uint64(id) << (k.shift & 63)
		}
	}
	return false
}
