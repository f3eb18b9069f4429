package csv

import (
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// Column is a wanted column of a file.
type Column struct {
	Name   string
	Number int // in the file, from 1
	Type   arrow.DataType
	Parser *Parser
	Given  bool // the type was given, not guessed
}

// Builder makes columns of the records of a block.
type Builder struct {
	Columns     []Column
	Nulls       []string           // the texts that mean null
	LongestNull int                // the length of the longest of them
	Memory      memory.Allocator   // of the columns
	Bad         func(*Fault) error // what becomes of a record with a value that does not parse
}

// Build makes a column of each wanted field. Records with a value that does not
// parse go to Bad; when that lets them be left out, they are, and the block is
// built without them.
func (b *Builder) Build(r *Records) ([]*memory.Column, error) {
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
func (b *Builder) try(r *Records) (columns []*memory.Column, wrong []int, err error) {
	for k := range b.Columns {
		c, bad, err := b.column(r, k)
		if err != nil || len(bad) > 0 {
			c.Release()
			return columns, bad, err
		}
		columns = append(columns, c)
	}
	return columns, nil, nil
}

// IsNull reports whether a field means null. Quotes tell a text from a null; what is
// no text has no other meaning for a null in quotes, or among blanks.
func (b *Builder) IsNull(text []byte, quoted, texts bool) bool {
	if !texts {
		text = Trim(text)
	}
	if quoted && texts || len(text) > b.LongestNull {
		return false
	}
	for _, n := range b.Nulls {
		if string(text) == n {
			return true
		}
	}
	return false
}

// column builds wanted column k.
func (b *Builder) column(r *Records, k int) (c *memory.Column, wrong []int, err error) {
	p := b.Columns[k].Parser
	out := &columnOutput{from: b.Memory, rows: int64(r.Rows())}
	defer out.release()
	total := int64(0)
	for row := 0; row < r.Rows() && p.text; row++ {
		f := r.fields[row*r.width+k]
		total += int64(f.to - f.from)
	}
	if err := out.begin(p, total); err != nil {
		return nil, nil, err
	}
	for row := range r.Rows() {
		f := &r.fields[row*r.width+k]
		field, quoted := r.text[f.from:f.to], f.quoted
		if f.doubled {
			field, _ = r.Field(row, k)
		}
		ok, err := b.put(p, out, row, field, quoted)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			if err := b.Bad(b.fault(r, row, k, field)); err != nil {
				return nil, nil, err
			}
			wrong = append(wrong, row)
		}
	}
	if len(wrong) > 0 {
		return nil, wrong, nil
	}
	c, err = out.finish(b.Columns[k].Type, p)
	return c, nil, err
}

// put writes the value of a field, or a null, as a row. It is not ok where the text is none of its type.
func (b *Builder) put(p *Parser, out *columnOutput, row int, field []byte, quoted bool) (ok bool, err error) {
	switch {
	case b.IsNull(field, quoted, p.text):
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
func (b *Builder) fault(r *Records, row, k int, field []byte) *Fault {
	c := b.Columns[k]
	e := &Fault{Line: r.lines[row], Column: c.Number, Name: c.Name, Value: string(field[:min(len(field), 200)])}
	switch {
	case c.Parser.utf8:
		e.Text = fmt.Sprintf("%.40q is not UTF-8", field)
	case c.Given:
		e.Text = fmt.Sprintf("%.40q is no %s", field, c.Type)
	default:
		e.Text = fmt.Sprintf("%.40q is no %s, which the type was guessed to be from the first rows: give the type in CSVOptions.Types[%q], or sample more rows", field, c.Type, c.Name)
	}
	return e
}
