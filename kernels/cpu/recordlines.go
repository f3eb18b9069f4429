package cpu

import "unsafe"

// recordLines are the lines of the parts that records of two words are moved to (see
// lineLoops): 64 bytes for each part.
type recordLines struct {
	room   []uint64
	blocks []*uint64
	shift  uint // of a word, what is shifted out for its part
	mask   uint64
	fold   uint // of a part, what is shifted out for its block
}

// lineRoom is so many words that begin a line of the caches.
func lineRoom(words int) []uint64 {
	room := make([]uint64, words+7)
	for uintptr(unsafe.Pointer(&room[0]))&63 != 0 {
		room = room[1:]
	}
	return room[:words]
}

// lineShare is how many records of a part a chunk has at least, for which lines are
// worth it: eight lines, of which the first and the last are moved record by record.
const lineShare = 32

// linesRecords reports whether so many records of so many chunks go by lines, as they may
// from some number on, or never if that is 0. Tests, which have them begin at few
// records, have fewer of a part too.
func linesRecords(from, records, parts, chunks int) bool {
	return from > 0 && records >= from && parts > 1 && records/(parts*chunks) >= min(lineShare, from)
}

// begin has the next records go to places.
func (r *recordLines) begin(places []uint32) {
	if len(r.room) < len(places)*8 {
		r.room = lineRoom(len(places) * 8)
	}
	for p, at := range places {
		r.room[p*8+placeWord] = uint64(at)<<32 | uint64(at)
	}
}

// put moves records on to their parts.
func (r *recordLines) put(l *lineLoops, words, values []uint64) {
	values = values[:len(words)]
	for len(words) > 0 {
		k := l.records(words, values, r.shift, r.mask, r.room, r.blocks, r.fold)
		if k < len(words) {
			r.fill(words[k], values[k])
			k++
		}
		words, values = words[k:], values[k:]
	}
}

// fill puts the record that fills a part's first line, and moves what the part has of it.
func (r *recordLines) fill(word, value uint64) {
	part := word >> r.shift & r.mask
	line := r.room[part*8:][:8]
	place := line[placeWord]
	line[6], line[7] = word, value
	next := uint64(uint32(place)) + 1
	r.move(int(part), line, int(place>>32), int(next))
	line[placeWord] = next<<32 | next
}

// move moves the records from place start on of a part's line, those before next.
func (r *recordLines) move(part int, line []uint64, start, next int) {
	first := (next - 1) &^ 3
	start = max(start, first)
	to := unsafe.Slice((*uint64)(unsafe.Add(unsafe.Pointer(r.blocks[part>>r.fold]), uintptr(start)*16)), 2*(next-start))
	copy(to, line[2*(start-first):])
}

// end moves what is left in lines, and sets places to those of the next records.
func (r *recordLines) end(l *lineLoops, places []uint32) {
	for p := range places {
		line := r.room[p*8:][:8]
		place := line[placeWord]
		start, next := int(place>>32), int(uint32(place))
		if next&3 != 0 && next > start {
			r.move(p, line, start, next)
		}
		places[p] = uint32(next)
	}
	l.fence()
}
