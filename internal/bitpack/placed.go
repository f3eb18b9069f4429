package bitpack

// Placed is Rows into places: element i of column c, from[c*line+i], goes to
// to[places[i]*stride+c], for n rows. There must be room for the last of the places.
func (l *Loops) Placed(to []uint32, stride int, places, from []uint32, line, columns, n int) {
	whole := 0
	if l.placed != nil {
		if whole = n / l.step * l.step; whole > 0 {
			_, _ = places[whole-1], from[(columns-1)*line+whole-1]
			c := 0
			for ; columns-c >= l.step || l.partly && c < columns; c += l.step {
				l.placed(to[c:], stride, places, from[c*line:], line, min(columns-c, l.step), whole)
			}
			if c < columns {
				placed(to[c:], stride, places[:whole], from[c*line:], line, columns-c)
			}
		}
	}
	if whole < n {
		placed(to, stride, places[whole:n], from[whole:], line, columns)
	}
}

// placed is Placed in Go, of as many rows as places.
func placed(to []uint32, stride int, places, from []uint32, line, columns int) {
	for i, place := range places {
		row := to[int(place)*stride:][:columns]
		for c := range row {
			row[c] = from[c*line+i]
		}
	}
}
