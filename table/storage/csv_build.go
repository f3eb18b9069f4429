package storage

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// csvColumn is a wanted column of a file.
type csvColumn struct {
	name   string
	number int // in the file, from 1
	typ    arrow.DataType
	parser *parser
	given  bool // the type was given, not guessed
}

// csvBuilder makes columns of the records of a block.
type csvBuilder struct {
	path    string
	columns []csvColumn
	nulls   []string
	longest int // of nulls
	from    memory.Allocator
	bad     func(*Error) error
}

// build makes a column of each wanted field. Records with a value that does not
// parse go to bad; when that lets them be left out, they are, and the block is
// built without them.
func (b *csvBuilder) build(r *csvRecords) ([]*memory.Column, error) {
	for {
		columns, wrong, err := b.try(r)
		if err == nil && len(wrong) == 0 {
			return columns, nil
		}
		for _, c := range columns {
			c.Release()
		}
		if err != nil {
			return nil, err
		}
		r.drop(wrong)
	}
}

// try builds the columns, up to the first that has wrong records.
func (b *csvBuilder) try(r *csvRecords) (columns []*memory.Column, wrong []int, err error) {
	for k := range b.columns {
		c, bad, err := b.column(r, k)
		if err != nil || len(bad) > 0 {
			c.Release()
			return columns, bad, err
		}
		columns = append(columns, c)
	}
	return columns, nil, nil
}

// isNull reports whether a field means null. Quotes tell a text from a null; what is
// no text has no other meaning for a null in quotes, or among blanks.
func (b *csvBuilder) isNull(text []byte, quoted, texts bool) bool {
	if !texts {
		text = trim(text)
	}
	if quoted && texts || len(text) > b.longest {
		return false
	}
	for _, n := range b.nulls {
		if string(text) == n {
			return true
		}
	}
	return false
}

// column builds wanted column k.
func (b *csvBuilder) column(r *csvRecords, k int) (c *memory.Column, wrong []int, err error) {
	p := b.columns[k].parser
	out := &csvOutput{from: b.from, rows: int64(r.rows())}
	defer out.release()
	total := int64(0)
	for row := 0; row < r.rows() && p.text; row++ {
		f := r.fields[row*r.width+k]
		total += int64(f.to - f.from)
	}
	if err := out.begin(p, total); err != nil {
		return nil, nil, err
	}
	for row := range r.rows() {
		f := &r.fields[row*r.width+k]
		field, quoted := r.text[f.from:f.to], f.quoted
		if f.doubled {
			field, _ = r.field(row, k)
		}
		ok, err := b.put(p, out, row, field, quoted)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			if err := b.bad(b.fault(r, row, k, field)); err != nil {
				return nil, nil, err
			}
			wrong = append(wrong, row)
		}
	}
	if len(wrong) > 0 {
		return nil, wrong, nil
	}
	c, err = out.finish(b.columns[k].typ, p)
	return c, nil, err
}

// put writes the value of a field, or a null, as a row. It is not ok where the text is none of its type.
func (b *csvBuilder) put(p *parser, out *csvOutput, row int, field []byte, quoted bool) (ok bool, err error) {
	switch {
	case b.isNull(field, quoted, p.text):
		if p.text {
			out.append(p, row, nil)
		} else if p.bits == nil {
			clear(out.values[row*p.width : (row+1)*p.width])
		}
		return true, out.null(int64(row))
	case p.text:
		ok = !p.utf8 || utf8.Valid(field)
		out.append(p, row, field)
	case p.bits != nil:
		var v bool
		if v, ok = p.bits(field); v {
			out.bitmap.Set(int64(row))
		}
	default:
		ok = p.fixed(field, out.values[row*p.width:(row+1)*p.width])
	}
	return ok, nil
}

// fault says what is wrong with a value, and what to do about a type that was
// guessed.
func (b *csvBuilder) fault(r *csvRecords, row, k int, field []byte) *Error {
	c := b.columns[k]
	e := &Error{Path: b.path, Line: r.lines[row], Column: c.number, Name: c.name, Kind: ErrFormat, Value: string(field[:min(len(field), 200)])}
	switch {
	case c.parser.utf8:
		e.Text = fmt.Sprintf("%.40q is not UTF-8", field)
	case c.given:
		e.Text = fmt.Sprintf("%.40q is no %s", field, c.typ)
	default:
		e.Text = fmt.Sprintf("%.40q is no %s, which the type was guessed to be from the first rows: give the type in CSVOptions.Types[%q], or sample more rows", field, c.typ, c.name)
	}
	return e
}

// csvOutput is the buffers of one column while it is built.
type csvOutput struct {
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

func (o *csvOutput) release() {
	o.valid.Release()
	o.main.Release()
	o.bytes.Release()
}

// begin makes room for all rows, and for so many bytes of texts.
func (o *csvOutput) begin(p *parser, total int64) (err error) {
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
func (o *csvOutput) null(row int64) (err error) {
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
func (o *csvOutput) append(p *parser, row int, field []byte) {
	o.ended(p, row, copy(o.bytes.Bytes()[o.written:], field))
}

// ended notes that the text of a row has so many bytes, which are there.
func (o *csvOutput) ended(p *parser, row, n int) {
	o.written += int64(n)
	if p.large {
		memory.View[int64](o.main)[row+1] = o.written
	} else {
		memory.View[int32](o.main)[row+1] = int32(o.written)
	}
}

// finish makes the column and hands the buffers over to it.
func (o *csvOutput) finish(t arrow.DataType, p *parser) (*memory.Column, error) {
	parts := memory.Parts{Type: t, Len: o.rows, Nulls: o.nulls, Buffers: []*memory.Buffer{o.valid, o.main}}
	if p.text {
		parts.Buffers = append(parts.Buffers, o.bytes)
	}
	o.valid, o.main, o.bytes = nil, nil, nil
	return memory.NewColumn(parts)
}
