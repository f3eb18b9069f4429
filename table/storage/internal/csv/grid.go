package csv

import (
	"sync"
	"unicode/utf8"

	"github.com/volley-go/volley/internal/delimit"
)

// Grid is the records of a block that all have as many fields as there are columns, none
// of them wrong as far as quotes and ends go. They were found many at a time. Other
// blocks are cut by Tokens, which knows what is wrong with them and where.
type Grid struct {
	text    []byte
	ends    []uint32 // of the fields, record after record, behind noEnd
	columns int
	Rows    int
	doubled bool // quotes stand twice in some field
}

// noEnd is what stands before the first field's end: a field begins behind the end before.
const noEnd = 1<<32 - 1

// gridPool keeps the room of ends for other blocks.
var gridPool = sync.Pool{New: func() any { return new(Grid) }}

// Release gives up the grid: its room goes to that of another block.
func (g *Grid) Release() {
	g.text = nil
	gridPool.Put(g)
}

// GridOf cuts a block. It is nil where records have to be looked at one by one: some are empty
// lines, have other numbers of fields, text that is not UTF-8, or wrong quotes.
func GridOf(text []byte, delim byte, columns int) *Grid {
	g := gridPool.Get().(*Grid)
	var t delimit.Text
	g.ends, t = delimit.Best().Fields(append(g.ends[:0], noEnd), text, delim)
	g.text, g.columns, g.Rows, g.doubled = text, columns, t.Lines, t.Doubled
	if t.End < len(text) {
		g.ends = append(g.ends, uint32(len(text)))
		g.Rows++
	}
	if !t.Regular || t.Open || !g.even() || !t.ASCII && !utf8.Valid(text) {
		g.Release()
		return nil
	}
	return g
}

// even reports whether every record has as many fields as there are columns: there are as many
// ends of lines as records, so that none of them is within a record if each record ends with one.
func (g *Grid) even() bool {
	if len(g.ends) != 1+g.Rows*g.columns {
		return false
	}
	for row := 1; row <= g.Rows; row++ {
		if end := int(g.ends[row*g.columns]); end < len(g.text) && g.text[end] != '\n' {
			return false
		}
	}
	return true
}

// trimmed is where a field, from and to as its ends have it, has its text: without the
// carriage return before an end of line and without its quotes.
func (g *Grid) trimmed(from, to int, last bool) (int, int, bool) {
	if last && to > from && g.text[to-1] == '\r' {
		to--
	}
	if to == from || g.text[from] != '"' {
		return from, to, false
	}
	return from + 1, to - 1, true
}
