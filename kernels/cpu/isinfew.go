package cpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

const (
	// mostFew is how many values are looked for without an index.
	mostFew = 16
	// fewPatterns is up to how many texts are compared one after another, rather than
	// by their words: each takes as long as one comparison with a literal.
	fewPatterns = 2
	// longPatterns is the same where a text is longer than two words hold.
	longPatterns = 8
)

// fewMembers are so few values that comparing a column with them takes less time than
// to look them up. It gives what tells of a column's rows, null or not, whether their
// values are among them.
type fewMembers func(c *memory.Column) func(dst memory.Bitmap, m span)

// fewOf is a set of few values; nil for others.
func fewOf(l *loops, set *memory.Column) fewMembers {
	if set.Len() > mostFew {
		return nil
	}
	switch set.Type().ID() {
	case arrow.INT8:
		return fewNumbers[int8](l, set)
	case arrow.UINT8:
		return fewNumbers[uint8](l, set)
	case arrow.INT16:
		return fewNumbers[int16](l, set)
	case arrow.UINT16:
		return fewNumbers[uint16](l, set)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return fewNumbers[int32](l, set)
	case arrow.UINT32:
		return fewNumbers[uint32](l, set)
	case arrow.INT64, arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return fewNumbers[int64](l, set)
	case arrow.UINT64:
		return fewNumbers[uint64](l, set)
	case arrow.FLOAT32:
		return fewNumbers[float32](l, set)
	case arrow.FLOAT64:
		return fewNumbers[float64](l, set)
	case arrow.STRING, arrow.BINARY:
		return fewTexts[int32](l, set)
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return fewTexts[int64](l, set)
	}
	return nil
}

// fewNumbers compares with one number after another. A NaN, which equals none in a
// comparison, is left to an index.
func fewNumbers[T number](l *loops, set *memory.Column) fewMembers {
	var few []T
	for i, v := range memory.Values[T](set) {
		if set.IsNull(int64(i)) {
			continue
		}
		if v != v {
			return nil
		}
		few = append(few, v)
	}
	equal := comparisonsOf[T](l).scalar[kernels.Equal]
	return func(c *memory.Column) func(dst memory.Bitmap, m span) {
		values := memory.Values[T](c)
		return eachFew(l, len(few), func(dst []byte, i int, from, to int64) { equal(dst, values[from:to], few[i]) })
	}
}

// eachFew asks for each of k values which rows equal it, some rows at a time.
func eachFew(l *loops, k int, equal func(dst []byte, i int, from, to int64)) func(dst memory.Bitmap, m span) {
	return func(dst memory.Bitmap, m span) {
		var room [headsAtOnce / 8]byte
		for from := m.from; from < m.to; from += headsAtOnce {
			to := min(from+headsAtOnce, m.to)
			found := dst[from>>3 : (to+7)>>3]
			if k == 0 {
				clear(found)
			} else {
				equal(found, 0, from, to)
			}
			for i := 1; i < k; i++ {
				equal(room[:len(found)], i, from, to)
				l.bitmap.or(found, found, room[:len(found)])
			}
		}
	}
}

// fewTexts compares words with those of the one text that they may be of, where texts
// are more than fewPatterns and all are short, and else with one text after another.
func fewTexts[T int32 | int64](l *loops, set *memory.Column) fewMembers {
	t := textsOf[T](set)
	var few [][]byte
	short := true
	for i := range set.Len() {
		if !set.IsNull(i) {
			few = append(few, t.at(i))
			short = short && len(t.at(i)) <= shortText
		}
	}
	heads := headsOf[T](l)
	var patterns []*textPattern
	for _, v := range few {
		patterns = append(patterns, patternOf(v, int64(len(v)), false))
	}
	each := func(t texts[T]) func(dst memory.Bitmap, m span) {
		return eachFew(l, len(few), func(dst []byte, i int, from, to int64) {
			part := texts[T]{offsets: t.offsets[from : to+1], data: t.data}
			matchPattern(heads, part, memory.Bitmap(dst), span{to: to - from}, patterns[i])
		})
	}
	var places *textPlaces
	if short && len(few) > fewPatterns {
		places = newTextPlaces(few)
	}
	switch {
	case places != nil:
		words := textWordsOf[T](l)
		return func(c *memory.Column) func(dst memory.Bitmap, m span) {
			t := textsOf[T](c)
			return func(dst memory.Bitmap, m span) { findPlaces(places, words, t, dst, m) }
		}
	case len(few) <= longPatterns:
		return func(c *memory.Column) func(dst memory.Bitmap, m span) { return each(textsOf[T](c)) }
	}
	return nil
}

// textPlaces are short texts by a few bits of their hashes, in which no two of them
// are the same: a text is compared with the one at its place. The words of a free
// place are of no text.
type textPlaces struct {
	shift uint
	at    [textPlaced][2]uint64
}

// textPlaced is how many places there are for mostFew texts: nearly two in three
// choices of bits then tell all apart.
const textPlaced = 256

// newTextPlaces looks for bits that tell texts apart; it is nil where none do.
func newTextPlaces(few [][]byte) *textPlaces {
	p := new(textPlaces)
	for ; p.shift <= 56; p.shift++ {
		if p.put(few) {
			return p
		}
	}
	return nil
}

func (p *textPlaces) put(few [][]byte) bool {
	for i := range p.at {
		p.at[i] = [2]uint64{0, ^uint64(0)}
	}
	for _, v := range few {
		low, high := shortWords(v)
		at := &p.at[mixText(low, high)>>(p.shift&63)%textPlaced]
		if at[1] != ^uint64(0) && (at[0] != low || at[1] != high) {
			return false
		}
		*at = [2]uint64{low, high}
	}
	return true
}

// findPlaces tells which rows of a morsel are texts at their places. Rows are made
// words of one by one where some are long.
func findPlaces[T int32 | int64](p *textPlaces, read func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool, t texts[T], dst memory.Bitmap, m span) {
	var words [batchRows / 4][2]uint64
	var hashes [batchRows / 4]uint64
	for from := m.from; from < m.to; from += int64(len(words)) {
		n := min(int64(len(words)), m.to-from)
		if !read(words[:n], hashes[:n], t.offsets[from:from+n+1], t.data, noSlots) {
			for j := range n {
				words[j] = [2]uint64{0, ^uint64(1)} // a long text is at no place
				if v := t.at(from + j); len(v) <= shortText {
					words[j][0], words[j][1] = shortWords(v)
				}
				hashes[j] = mixText(words[j][0], words[j][1])
			}
		}
		for j := int64(0); j < n; j += 64 {
			k := min(64, n-j)
			storeWord(dst, from+j, k, p.has(words[j:j+k], hashes[j:j+k]))
		}
	}
}

// has is a bit for each of up to 64 texts.
func (p *textPlaces) has(words [][2]uint64, hashes []uint64) (found uint64) {
	hashes = hashes[:len(words)]
	shift := p.shift & 63
	for j := range words {
		w, at := &words[j], &p.at[hashes[j]>>shift%textPlaced]
		differs := w[0] ^ at[0] | w[1] ^ at[1]
		found |= (^(differs | -differs) >> 63) << uint(j&63)
	}
	return found
}
