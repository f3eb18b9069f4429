package csv

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// columnOutput is the buffers of one column while it is built.
type columnOutput struct {
	from    memory.Allocator
	rows    int64
	valid   *memory.Buffer
	nulls   int64
	main    *memory.Buffer // values, bits or offsets
	bytes   *memory.Buffer // of text
	values  []byte
	bitmap  memory.Bitmap
	written int64
}

func (o *columnOutput) release() {
	o.valid.Release()
	o.main.Release()
	o.bytes.Release()
}

// begin makes room for all rows, and for so many bytes of texts.
func (o *columnOutput) begin(p *Parser, total int64) (err error) {
	size := memory.BitmapBytes(o.rows)
	switch {
	case p.text && p.large:
		size = 8 * (o.rows + 1)
	case p.text:
		size = 4 * (o.rows + 1)
	case p.bits == nil:
		size = int64(p.width) * o.rows
	}
	if o.main, err = memory.New(o.from, size); err != nil {
		return err
	}
	switch {
	case p.bits != nil: // bits are only set
		clear(o.main.Bytes())
	case p.text: // the first offset
		clear(o.main.Bytes()[:size/(o.rows+1)])
	}
	o.values = o.main.Bytes()
	o.bitmap = memory.Bitmap(o.values)
	if !p.text {
		return nil
	}
	if total > math.MaxInt32 && !p.large {
		return fmt.Errorf("%w: %d bytes of text in one block", memory.ErrMismatch, total)
	}
	o.bytes, err = memory.New(o.from, total)
	return err
}

// null makes a row null.
func (o *columnOutput) null(row int64) (err error) {
	if o.valid == nil {
		if o.valid, err = memory.New(o.from, memory.BitmapBytes(o.rows)); err != nil {
			return err
		}
		m := memory.Bitmap(o.valid.Bytes())
		clear(m)
		m.Fill(0, o.rows, true)
	}
	memory.Bitmap(o.valid.Bytes()).Clear(row)
	o.nulls++
	return nil
}

// append puts a text behind those of the rows before.
func (o *columnOutput) append(p *Parser, row int, field []byte) {
	o.ended(p, row, copy(o.bytes.Bytes()[o.written:], field))
}

// ended notes that the text of a row has so many bytes, which are there.
func (o *columnOutput) ended(p *Parser, row, n int) {
	o.written += int64(n)
	if p.large {
		memory.View[int64](o.main)[row+1] = o.written
	} else {
		memory.View[int32](o.main)[row+1] = int32(o.written)
	}
}

// finish makes the column and hands the buffers over to it.
func (o *columnOutput) finish(t arrow.DataType, p *Parser) (*memory.Column, error) {
	parts := memory.Parts{Type: t, Len: o.rows, Nulls: o.nulls, Buffers: []*memory.Buffer{o.valid, o.main}}
	if p.text {
		parts.Buffers = append(parts.Buffers, o.bytes)
	}
	o.valid, o.main, o.bytes = nil, nil, nil
	return memory.NewColumn(parts)
}

// Repeat is a column of so many rows that all have the value, or the null, of a column of one
// row. It is of a type that CSV holds.
func Repeat(from memory.Allocator, one *memory.Column, rows int64) (*memory.Column, error) {
	p, err := ParserOf(one.Type())
	if err != nil {
		return nil, err
	}
	out := &columnOutput{from: from, rows: rows}
	defer out.release()
	value := oneValue(one, p)
	total := int64(0)
	if p.text {
		total = rows * int64(len(value))
	}
	if err := out.begin(p, total); err != nil {
		return nil, err
	}
	for row := range int(rows) {
		switch {
		case p.text:
			out.append(p, row, value)
		case p.bits != nil:
			out.bitmap.Put(int64(row), value[0] != 0)
		default:
			copy(out.values[row*p.width:], value)
		}
		if one.IsNull(0) {
			if err := out.null(int64(row)); err != nil {
				return nil, err
			}
		}
	}
	return out.finish(one.Type(), p)
}

// oneValue is the bytes of the only value of a column; of a bool it is one byte.
func oneValue(one *memory.Column, p *Parser) []byte {
	at := one.Offset()
	switch {
	case p.bits != nil && one.Bits().Get(at):
		return []byte{1}
	case p.bits != nil:
		return []byte{0}
	case !p.text:
		return one.Buffer(1).Bytes()[at*int64(p.width) : (at+1)*int64(p.width)]
	case one.IsNull(0):
		return nil
	case p.large:
		o := memory.Offsets[int64](one)
		return one.Buffer(2).Bytes()[o[0]:o[1]]
	}
	o := memory.Offsets[int32](one)
	return one.Buffer(2).Bytes()[o[0]:o[1]]
}
