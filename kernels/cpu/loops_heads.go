package cpu

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"sort"
)

// headLoops hold eight bytes of each of some texts against a word or against the same
// bytes of other texts. offsets are one more than the rows; a dst has a bit for each row,
// and what is left of it becomes 0. No byte outside of data is read.
//
// Reading is the limit. Of texts of 4 to 16 letters in the caches, on an Intel processor with
// AMX, a row takes 2.9, 4.0 and 6.4 ns in Go (match, order, pairs), 0.58, 0.80 and 1.4 with AVX2 and
// 0.34, 0.42 and 0.79 with AVX-512: five to sixteen instructions for eight rows and the loads of
// a gather, one a row. Of a million longer ones in the third-level cache match reads
// 26 GB/s with one thread; of 1e7 rows with two it takes 66 % of what reading has.
type headLoops[T int32 | int64] struct {
	// match tells which texts are as long as p says and have its bytes where it says.
	match func(dst []byte, offsets []T, data []byte, p *textPiece)
	// order compares texts, of which skip bytes are left out, with a text of size bytes
	// that begins with those of want, which is big-endian: what it lacks is 0. below is of
	// those whose first eight bytes are less, or the same and their length too. Up to
	// eight bytes that is the order of texts; size 9 stands for more, and open is of those
	// that have the same eight bytes and size or more.
	order func(below, open []byte, offsets []T, data []byte, skip int, want uint64, size int64)
	// pairs is order of two columns' texts, row by row: below is of those in the first one
	// that are less, same of those whose first eight bytes and lengths are the same, and
	// open of those with the same eight bytes and more after them on both sides.
	pairs func(below, same, open []byte, a texts[T], b texts[T], skip int)
	// deep is for how many bytes the loops go on, eight by eight, with texts that have the
	// same ones so far, before these are compared one by one.
	deep int
}

// textPiece is up to eight bytes at a place of texts of least to most bytes, with the
// same place in all: counted from a text's begin, or, if last, from its end, and then
// negative. A text of such a length has the bytes that mask has.
type textPiece struct {
	least, most int64
	place       int64
	last        bool
	want, mask  uint64 // little-endian
}

func goHeadLoops[T int32 | int64]() headLoops[T] {
	return headLoops[T]{match: matchHeads[T], order: orderHeads[T], pairs: pairHeads[T]}
}

// headsOf are the loops for a type of offsets.
func headsOf[T int32 | int64](l *loops) *headLoops[T] {
	var t T
	if _, narrow := any(t).(int32); narrow {
		return any(&l.heads32).(*headLoops[T])
	}
	return any(&l.heads64).(*headLoops[T])
}

func matchHeads[T int32 | int64](dst []byte, offsets []T, data []byte, p *textPiece) {
	n, last, q := len(offsets)-1, int64(0), *p
	places := offsets[:n]
	if q.last {
		places, last = offsets[1:], -1
	}
	k := readable(places, int64(len(data))-8-q.place)
	for i := range dst[:k/8] {
		if i%touchBytes == 0 {
			touch(data, int64(offsets[8*i]), int64(offsets[min(8*(i+touchBytes), n)]))
		}
		o, b := (*[9]T)(offsets[8*i:]), byte(0)
		for j := range 8 {
			from := int64(o[j])
			length := int64(o[j+1]) - from
			fits := bit(uint64(length-q.least) <= uint64(q.most-q.least))
			place := (from + length&last + q.place) & -int64(fits) // of texts too short it may be before all
			b |= fits & bit((binary.LittleEndian.Uint64(data[place:])^q.want)&q.mask == 0) << uint(j)
		}
		dst[i] = b
	}
	clear(dst[k/8:])
	for i := k; i < n; i++ {
		length, place := int64(offsets[i+1])-int64(offsets[i]), int64(places[i])+q.place
		if length >= q.least && length <= q.most {
			dst[i/8] |= bit((wordAt(data, place)^q.want)&q.mask == 0) << uint(i%8)
		}
	}
}

// touchBytes is how many bytes of bits the texts of which are read before any is compared.
const touchBytes = 32

// touch reads a byte of each line of texts, if they are short.
func touch(data []byte, from, to int64) {
	if to-from > 64*8*touchBytes {
		return
	}
	touched := byte(0)
	for ; from < to; from += 64 {
		touched |= data[from]
	}
	runtime.KeepAlive(touched)
}

// wordAt is the eight bytes at a place, little-endian, with zeros for those that are not
// in data.
func wordAt(data []byte, place int64) uint64 {
	var room [8]byte
	copy(room[:], data[min(place, int64(len(data))):])
	return binary.LittleEndian.Uint64(room[:])
}

// headOf is the first bytes of a word of which so many are a text's, below 0 none and
// above 8 all, big-endian and with zeros for the others.
func headOf(w uint64, length int64) uint64 {
	return bits.ReverseBytes64(w) &^ (^uint64(0) >> (8 * uint64(max(length, 0))))
}

func orderHeads[T int32 | int64](below, open []byte, offsets []T, data []byte, skip int, want uint64, size int64) {
	n, past := len(offsets)-1, int64(skip)
	k := readable(offsets[:n], int64(len(data))-8-past)
	open = open[:len(below)]
	for i := range below[:k/8] {
		if i%touchBytes == 0 {
			touch(data, int64(offsets[8*i]), int64(offsets[min(8*(i+touchBytes), n)]))
		}
		o, less, more := (*[9]T)(offsets[8*i:]), byte(0), byte(0)
		for j := range 8 {
			from := int64(o[j]) + past
			length := int64(o[j+1]) - from
			w := headOf(binary.LittleEndian.Uint64(data[from:]), length)
			alike, short := bit(w == want), bit(length < size)
			less |= (bit(w < want) | alike&short) << uint(j)
			more |= alike &^ short << uint(j)
		}
		below[i], open[i] = less, more
	}
	clear(below[k/8:])
	clear(open[k/8:])
	for i := k; i < n; i++ {
		from := int64(offsets[i]) + past
		length := int64(offsets[i+1]) - from
		w := headOf(wordAt(data, from), length)
		alike, short := bit(w == want), bit(length < size)
		below[i/8] |= (bit(w < want) | alike&short) << uint(i%8)
		open[i/8] |= alike &^ short << uint(i%8)
	}
}

func pairHeads[T int32 | int64](below, same, open []byte, a, b texts[T], skip int) {
	n, past := len(a.offsets)-1, int64(skip)
	k := readable(a.offsets[:n], int64(len(a.data))-8-past)
	k = readable(b.offsets[:k], int64(len(b.data))-8-past)
	same, open = same[:len(below)], open[:len(below)]
	for i := range below[:k/8] {
		if i%touchBytes == 0 {
			touch(a.data, int64(a.offsets[8*i]), int64(a.offsets[min(8*(i+touchBytes), n)]))
			touch(b.data, int64(b.offsets[8*i]), int64(b.offsets[min(8*(i+touchBytes), n)]))
		}
		x, y := (*[9]T)(a.offsets[8*i:]), (*[9]T)(b.offsets[8*i:])
		var less, both, more byte
		for j := range 8 {
			from, other := int64(x[j])+past, int64(y[j])+past
			k, m := int64(x[j+1])-from, int64(y[j+1])-other
			v, w := headOf(binary.LittleEndian.Uint64(a.data[from:]), k), headOf(binary.LittleEndian.Uint64(b.data[other:]), m)
			alike := bit(v == w)
			less |= (bit(v < w) | alike&bit(k < m)) << uint(j)
			both |= alike & bit(k == m) << uint(j)
			more |= alike & bit(min(k, m) > 8) << uint(j)
		}
		below[i], same[i], open[i] = less, both, more
	}
	clear(below[k/8:])
	clear(same[k/8:])
	clear(open[k/8:])
	for i := k; i < n; i++ {
		from, other := int64(a.offsets[i])+past, int64(b.offsets[i])+past
		k, m := int64(a.offsets[i+1])-from, int64(b.offsets[i+1])-other
		v, w := headOf(wordAt(a.data, from), k), headOf(wordAt(b.data, other), m)
		alike := bit(v == w)
		below[i/8] |= (bit(v < w) | alike&bit(k < m)) << uint(i%8)
		same[i/8] |= alike & bit(k == m) << uint(i%8)
		open[i/8] |= alike & bit(min(k, m) > 8) << uint(i%8)
	}
}

// readable is how many of the first texts, all whose offset is not above limit, a
// multiple of eight.
func readable[T int32 | int64](offsets []T, limit int64) int {
	n := len(offsets)
	if n > 0 && int64(offsets[n-1]) > limit {
		n = sort.Search(n, func(i int) bool { return int64(offsets[i]) > limit })
	}
	return n &^ 7
}
