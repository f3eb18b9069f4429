package cpu

import "unsafe"

// lines are those of the parts that a piece of the rows is moved to (see lineLoops).
type lines[R row] struct {
	places, starts []uint32 // of each part: of its next row, and of its first
	room           []uint64
	parts          [block]uint16
	toWords        []uint64
	toRows         []R
}

// begin has the lines be those of rows that go to places, some rows after the
// beginning of the slices.
func (s *lines[R]) begin(places []uint32, after int, toWords []uint64, toRows []R) {
	s.places = append(s.places[:0], places...)
	for p := range s.places {
		s.places[p] += uint32(after)
	}
	s.starts = append(s.starts[:0], s.places...)
	if words := len(places)*roomWords[R]() + 8; len(s.room) < words {
		s.room = make([]uint64, words)
		for uintptr(unsafe.Pointer(&s.room[0]))&63 != 0 {
			s.room = s.room[1:]
		}
	}
	s.toWords, s.toRows = toWords, toRows
}

// beginLines reports whether words and rows begin lines.
func beginLines[R row](words []uint64, rows []R) bool {
	return (uintptr(unsafe.Pointer(unsafe.SliceData(words)))|uintptr(unsafe.Pointer(unsafe.SliceData(rows))))&63 == 0
}

// put puts up to a block of rows in their lines; by are the words that they are cut by.
func (s *lines[R]) put(l *loops, c *cutting, by, words []uint64, rows []R) {
	parts, shift, mask := s.parts[:len(by)], c.shift&63, c.mask
	if c.table != nil {
		for i, w := range by {
			parts[i] = c.table[w>>shift&mask]
		}
	} else {
		for i, w := range by {
			parts[i] = uint16(w >> shift & mask)
		}
	}
	put := linesOf[R](&l.lines)
	for len(words) > 0 {
		k := put(parts, words, rows, s.places, s.starts, s.room, s.toWords, s.toRows)
		if p := int(parts[k-1]); int(s.places[p])&(lineRows[R]()-1) == 0 && int(s.places[p]) < int(s.starts[p])+lineRows[R]() {
			s.move(p, int(s.places[p])-lineRows[R]())
		}
		parts, words, rows = parts[k:], words[k:], rows[k:]
	}
}

// move moves the rows of a part's line that begins at a row, up to its last.
func (s *lines[R]) move(p, line int) {
	n := lineRows[R]()
	from, to := max(line, int(s.starts[p])), int(s.places[p])
	if from >= to {
		return
	}
	room := s.room[p*roomWords[R]():][:roomWords[R]()]
	copy(s.toWords[from:to], room[from-line:])
	copy(s.toRows[from:to], unsafe.Slice((*R)(unsafe.Pointer(&room[n])), n)[from-line:])
}

// end moves what is left in lines.
func (s *lines[R]) end() {
	for p, at := range s.places {
		s.move(p, int(at)&^(lineRows[R]()-1))
	}
}
