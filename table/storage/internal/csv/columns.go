package csv

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/volley-go/volley/memory"
)

// Grid builds the columns of a block, one after the other. It is not ok where a value does not
// parse: then the block is to be cut and built again by what can say where.
func (b *Builder) Grid(g *Grid) (columns []*memory.Column, ok bool, err error) {
	for k := range b.Columns {
		c, ok, err := b.gridColumn(g, k)
		if err != nil || !ok {
			for _, c := range columns {
				c.Release()
			}
			return nil, false, err
		}
		columns = append(columns, c)
	}
	return columns, true, nil
}

// gridColumn builds wanted column k.
func (b *Builder) gridColumn(g *Grid, k int) (c *memory.Column, ok bool, err error) {
	p := b.Columns[k].Parser
	w := columnWriter{b: b, p: p, g: g, column: b.Columns[k].Number - 1, out: &columnOutput{from: b.Memory, rows: int64(g.Rows)}}
	defer w.out.release()
	if err := w.out.begin(p, w.size()); err != nil {
		return nil, false, err
	}
	switch {
	case p.text:
		ok, err = w.texts()
	case p.shape == int64Shape:
		ok, err = w.int64s()
	case p.shape == float64Shape:
		ok, err = w.float64s()
	default:
		ok, err = w.others()
	}
	if !ok || err != nil {
		return nil, false, err
	}
	c, err = w.out.finish(b.Columns[k].Type, p)
	return c, err == nil, err
}

// columnWriter writes one column of a grid.
type columnWriter struct {
	b      *Builder
	p      *Parser
	g      *Grid
	column int
	out    *columnOutput
}

// size is how many bytes a column of texts has at most.
func (w *columnWriter) size() (total int64) {
	if !w.p.text {
		return 0
	}
	for i := w.column; i+1 < len(w.g.ends); i += w.g.columns {
		total += int64(w.g.ends[i+1] - w.g.ends[i] - 1)
	}
	return total
}

// last reports whether ends of lines follow the column's fields.
func (w *columnWriter) last() bool { return w.column == w.g.columns-1 }

// put writes one value of any type, by its parser.
func (w *columnWriter) put(row, from, to int) (bool, error) {
	from, to, quoted := w.g.trimmed(from, to, w.last())
	field := w.g.text[from:to]
	if quoted && w.g.doubled {
		field = bytes.ReplaceAll(field, []byte(`""`), []byte(`"`))
	}
	return w.b.put(w.p, w.out, row, field, quoted)
}

func (w *columnWriter) others() (bool, error) {
	for row, i := 0, w.column; row < w.g.Rows; row, i = row+1, i+w.g.columns {
		if ok, err := w.put(row, int(w.g.ends[i]+1), int(w.g.ends[i+1])); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// numberReach is how many bytes up to a number's last one are loaded.
const numberReach = 24

// int64s writes whole numbers. Those of up to 19 digits have their digits taken eight at a
// time, from the last on, however many there are of them.
func (w *columnWriter) int64s() (bool, error) {
	text, ends, values := w.g.text, w.g.ends, memory.View[int64](w.out.main)
	shortest := w.b.LongestNull
	last := w.last()
	for row, i := 0, w.column; row < w.g.Rows; row, i = row+1, i+w.g.columns {
		from, to := int(ends[i]+1), int(ends[i+1])
		if last && to > from && text[to-1] == '\r' {
			to--
		}
		if to-from > shortest && to >= numberReach {
			negative := 0
			if text[from] == '-' {
				negative = 1
			}
			if u, ok := lastDigits(text, to, to-from-negative); ok && u>>63 == 0 {
				sign := -int64(negative)
				values[row] = int64(u) ^ sign - sign
				continue
			}
		}
		if ok, err := w.put(row, from, to); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// float64s writes floats. Those with up to seven digits before a point and up to 19 in all are
// read as plainFloat reads them.
func (w *columnWriter) float64s() (bool, error) {
	text, ends, values := w.g.text, w.g.ends, memory.View[float64](w.out.main)
	shortest := w.b.LongestNull
	last := w.last()
	for row, i := 0, w.column; row < w.g.Rows; row, i = row+1, i+w.g.columns {
		from, to := int(ends[i]+1), int(ends[i+1])
		if last && to > from && text[to-1] == '\r' {
			to--
		}
		if to-from > shortest && to >= numberReach && from+9 <= len(text) {
			negative := 0
			if text[from] == '-' {
				negative = 1
			}
			word := binary.LittleEndian.Uint64(text[from+negative:])
			before := bits.TrailingZeros64(zeroByte(word^'.'*everyByte)) >> 3
			after := to - from - negative - before - 1
			whole := (word ^ '0'*everyByte) << uint(64-8*before)
			if before < 8 && after > 0 && noDigit(whole) == 0 {
				u, m := eight(whole), uint64(0)
				ok := u == 0 || before+after <= sureDigits
				if ok {
					m, ok = lastDigits(text, to, after)
				}
				if ok {
					values[row] = signed64(quotient(u*tens[after]+m, after), negative)
					continue
				}
			}
		}
		if ok, err := w.put(row, from, to); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// texts writes strings. Those of up to 16 bytes are copied as 16 where there is room.
func (w *columnWriter) texts() (bool, error) {
	text, ends, to16 := w.g.text, w.g.ends, w.out.bytes.Bytes()
	for row, i := 0, w.column; row < w.g.Rows; row, i = row+1, i+w.g.columns {
		from, to, quoted := w.g.trimmed(int(ends[i]+1), int(ends[i+1]), w.last())
		n, at := to-from, int(w.out.written)
		if plain := quoted && !w.g.doubled || !quoted && n > w.b.LongestNull; plain && n <= 16 && from+16 <= len(text) && at+16 <= len(to16) {
			*(*[16]byte)(to16[at:]) = *(*[16]byte)(text[from:])
			w.out.ended(w.p, row, n)
			continue
		}
		field := text[from:to]
		if quoted && w.g.doubled {
			field = bytes.ReplaceAll(field, []byte(`""`), []byte(`"`))
		}
		if _, err := w.b.put(w.p, w.out, row, field, quoted); err != nil {
			return false, err
		}
	}
	return true, nil
}
