package report

const (
	entryPixels = 28 // one row of the legend
	swatchWidth = 24
)

// entry is a name in a legend, and where it starts from the legend's corner.
type entry struct {
	name string
	x, y float64
}

// legend lays names side by side in rows as wide as there is room, and returns them with the height of all and the space below. Without letters, which measure, each name
// has a row.
func legend(l letters, names []string, room float64) (entries []entry, height int) {
	x, row := 0.0, 0
	for i, name := range names {
		wide := room
		if l != nil {
			name = l.fit(name, labelSize, room-swatchWidth-8)
			wide = swatchWidth + 8 + l.width(name, labelSize)
		}
		if i > 0 && x+wide > room {
			x, row = 0, row+1
		}
		entries = append(entries, entry{name, x, (float64(row) + 0.5) * entryPixels})
		x += wide + 28
	}
	return entries, (row+1)*entryPixels + 10
}
