package cpu

import "unsafe"

// lineLoops move words, and what goes with them, to their parts by way of a room
// in the second-level cache that has a line of each part: where one is full it is
// stored past the caches, and so is not read before it is written, nor do stores
// wait for lines to come. See putLines. Of 1e7 rows of 16 bytes and 2048 parts an
// Intel server with 2 MiB of second-level cache takes 4.7 ns of processor time a
// row, 13.6 with plain stores; Zen 4, with 1 MiB, whose stores wait less, takes up to
// 1.4 times as long with lines as without. So from is set where that cache is so large,
// which also holds the room. Joins of distinct close keys move fewer bytes and are
// faster with lines on both (see closeJoin), and so are groups on their way to the order of
// their first rows: unique keys of 1e7 rows take 21.3 ns of processor time where 24.5.
type lineLoops struct {
	from      int // how many rows are moved so, 0 for none
	joinFrom  int // the same of a side of a join of spread keys, and of its pairs
	closeFrom int // the same of right rows in a join of distinct close keys; 0 where a plan prefers a table (flow/stats)
	cutFrom   int // the same of rows whose groups are put in order of first rows
	u32       func(parts []uint16, words []uint64, rows []uint32, places, starts []uint32, room, toWords []uint64, toRows []uint32) (taken int)
	u64       func(parts []uint16, words []uint64, rows []uint64, places, starts []uint32, room, toWords []uint64, toRows []uint64) (taken int)

	records func(words, values []uint64, shift uint, mask uint64, room []uint64, blocks []*uint64, fold uint) (taken int)
	store   func(a, b, line *uint64) // a[:8], b[:8] = line[:8], line[8:16]
	fence   func()                   // waits until what was stored is seen by all
}

// linesCache is from what size of the second-level cache on lines are used, closeCache
// from what size on distinct close keys are joined by parts, whose arrays have half of
// it, and linesFrom from how many rows on lines are used: fewer stay in the caches. hashedFrom
// is that of joins of spread keys where the cache is smaller: 1e8 rows a side take 21
// ns each by lines on Zen 4, in left order 29 and 31, and without 23 and 25, 34 and 36.
const (
	linesCache = 2 << 20
	closeCache = 1 << 20
	linesFrom  = pastCaches / 8
	hashedFrom = 1 << 25
)

func goLineLoops() lineLoops {
	return lineLoops{u32: putLines[uint32], u64: putLines[uint64], records: putRecords, store: storeLines, fence: func() {}}
}

// linesOf is the loop for rows of a type.
func linesOf[R row](l *lineLoops) (put func(parts []uint16, words []uint64, rows []R, places, starts []uint32, room, toWords []uint64, toRows []R) (taken int)) {
	switch p := any(&put).(type) {
	case *func(parts []uint16, words []uint64, rows []uint32, places, starts []uint32, room, toWords []uint64, toRows []uint32) (taken int):
		*p = l.u32
	case *func(parts []uint16, words []uint64, rows []uint64, places, starts []uint32, room, toWords []uint64, toRows []uint64) (taken int):
		*p = l.u64
	}
	return put
}

// lineRows is how many rows a line of rows has, and roomWords how many words of
// the room a part has: those of so many rows and then the rows.
func lineRows[R row]() int  { return 64 / int(unsafe.Sizeof(R(0))) }
func roomWords[R row]() int { return lineRows[R]() + 8 }

// putLines puts rows in the lines of their parts, at whose places they are going to
// be, and moves lines that are full. It stops after a row that fills a line which
// begins before the part does, and is not to be moved whole.
func putLines[R row](parts []uint16, words []uint64, rows []R, places, starts []uint32, room, toWords []uint64, toRows []R) (taken int) {
	n, size := lineRows[R](), roomWords[R]()
	for i, w := range words {
		p := int(parts[i])
		at := int(places[p])
		places[p] = uint32(at + 1)
		line := room[p*size:][:size]
		lineWords, lineRows := line[:n], unsafe.Slice((*R)(unsafe.Pointer(&line[n])), n)
		lineWords[at&(n-1)], lineRows[at&(n-1)] = w, rows[i]
		if at&(n-1) != n-1 {
			continue
		}
		first := at - (n - 1)
		if first < int(starts[p]) {
			return i + 1
		}
		copy(toWords[first:], lineWords)
		copy(toRows[first:], lineRows)
	}
	return len(words)
}

// placeWord is which word of a part's line of records has its place and, above it, its
// start, but while the line is full.
const placeWord = 6

// putRecords puts records of a word and a value in the lines of the parts that mask's
// bits of the words, from shift on, tell, and moves lines that are full to their block,
// whose number is the part's without its last fold bits. It stops before a record
// that fills a line which begins before the part does, and is not to be moved whole.
func putRecords(words, values []uint64, shift uint, mask uint64, room []uint64, blocks []*uint64, fold uint) (taken int) {
	for i, w := range words {
		part := w >> shift & mask
		line := room[part*8:][:8]
		place := line[placeWord]
		lane := place & 3
		if lane < 3 {
			line[2*lane], line[2*lane+1], line[placeWord] = w, values[i], place+1
			continue
		}
		first := uint32(place) - 3
		if first < uint32(place>>32) {
			return i
		}
		line[6], line[7] = w, values[i]
		copy(unsafe.Slice((*uint64)(unsafe.Add(unsafe.Pointer(blocks[part>>fold]), uintptr(first)*16)), 8), line)
		line[placeWord] = place + 1
	}
	return len(words)
}

// storeLines moves a line of words and the one after it apart.
func storeLines(a, b, line *uint64) {
	from := unsafe.Slice(line, 16)
	copy(unsafe.Slice(a, 8), from)
	copy(unsafe.Slice(b, 8), from[8:])
}
