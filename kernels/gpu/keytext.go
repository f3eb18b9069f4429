package gpu

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// isText reports whether values of a type are runs of bytes.
func isText(t arrow.DataType) bool {
	layout := memory.LayoutOf(t)
	return layout == memory.LayoutBinary || layout == memory.LayoutLargeBinary
}

// textRows are the rows of a column of texts, which are keys by themselves.
func (c *call) textRows(col *memory.Column) keyRows {
	n := col.Len()
	rows := keyRows{n: n, k: 1, text: true, live: c.validity(col), bytes: c.bytes(col)}
	width := 4
	if memory.LayoutOf(col.Type()) == memory.LayoutLargeBinary {
		width, rows.wide = 8, 1
	}
	rows.offsets = c.values(col, width)
	words := c.temp(8 * n)
	rows.words = vector{words, 0}
	c.launch("keys", "keys_text", c.strided(n), rows.offsets, rows.wide, rows.bytes, rows.live, words, n)
	return rows
}

// textCodes gives each text a number, the same for equal texts: its slot in the
// part's table of texts, which is made of this column unless there is one. A
// text that the table has not got gets a number that no slot has.
func (c *call) textCodes(p *keyPart, col *memory.Column) (codes vector, kind int32) {
	rows := c.textRows(col)
	var slots *memory.Buffer
	if p.texts == nil {
		p.texts, slots = c.buildTable(rows, tableOptions{})
		p.bits = bits.Len64(uint64(p.texts.size())) // all ones are no slot
	} else {
		slots = c.find(p.texts, rows)
	}
	if p.texts.wide() {
		return vector{slots, 0}, key64
	}
	return vector{slots, 0}, key32
}
