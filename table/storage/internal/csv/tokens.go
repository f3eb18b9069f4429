package csv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"
)

// fieldSpan is the place of a field's text in its block.
type fieldSpan struct {
	from, to uint32
	quoted   bool
	doubled  bool // it has quotes written twice
	lines    bool // it has ends of lines
}

// Records are the records of a block, and of each the wanted fields.
type Records struct {
	text   []byte
	fields []fieldSpan // wanted ones, record after record
	width  int         // wanted fields of a record
	lines  []int64     // where each record begins
}

// recordsPool keeps what records were cut into for the next block.
var recordsPool = sync.Pool{New: func() any { return new(Records) }}

// Release gives up the records: their room goes to those of another block.
func (r *Records) Release() {
	r.text = nil
	recordsPool.Put(r)
}

// reset empties the records for those of a text, with room for as many as it
// has lines.
func (r *Records) reset(text []byte, width int) {
	rows := bytes.Count(text, []byte{'\n'}) + 1
	if cap(r.lines) < rows {
		r.lines = make([]int64, 0, rows+rows/8)
	}
	if cap(r.fields) < rows*width {
		r.fields = make([]fieldSpan, 0, (rows+rows/8)*width)
	}
	r.text, r.width, r.fields, r.lines = text, width, r.fields[:0], r.lines[:0]
}

// Rows is the number of records.
func (r *Records) Rows() int { return len(r.lines) }

// Field is the text of wanted field k of a record.
func (r *Records) Field(row, k int) (text []byte, quoted bool) {
	f := r.fields[row*r.width+k]
	text = r.text[f.from:f.to]
	if f.doubled {
		text = bytes.ReplaceAll(text, []byte(`""`), []byte(`"`))
	}
	return text, f.quoted
}

// drop takes out the records whose numbers, in order, are given.
func (r *Records) drop(rows []int) {
	to, next := 0, 0
	for row := range r.lines {
		if next < len(rows) && rows[next] == row {
			next++
			continue
		}
		copy(r.fields[to*r.width:], r.fields[row*r.width:(row+1)*r.width])
		r.lines[to] = r.lines[row]
		to++
	}
	r.fields, r.lines = r.fields[:to*r.width], r.lines[:to]
}

// Tokens cuts blocks into fields.
type Tokens struct {
	Delimiter byte
	Names     []string           // of all columns; nil before the header is known
	Slots     []int              // of all columns: the wanted field's number, or -1
	Bad       func(*Fault) error // what becomes of a record that is wrong

	within bool // the record that was cut last has ends of lines in its fields
}

// Records cuts a block, up to most records; 0 means all. Empty lines are
// passed over, but where there is one column: there they are an empty field. A
// record that is wrong goes to Bad: an error that it returns ends the work, nil
// leaves the record out.
func (t *Tokens) Records(b Block, most int) (*Records, error) {
	r := recordsPool.Get().(*Records)
	r.reset(b.Text, t.wanted())
	line := b.Line
	for pos := 0; pos < len(b.Text) && (most == 0 || r.Rows() < most); {
		if n := emptyLine(b.Text[pos:]); n > 0 && len(t.Names) != 1 {
			pos, line = pos+n, line+1
			continue
		}
		had := len(r.fields)
		end, fault := t.record(r, pos)
		if fault == nil {
			r.lines = append(r.lines, line)
			if t.within {
				line += int64(bytes.Count(b.Text[pos:end], []byte{'\n'}))
			} else {
				line++
			}
			pos = end
			continue
		}
		r.fields = r.fields[:had]
		fault.Line = line
		if err := t.Bad(fault); err != nil {
			return nil, err
		}
		if fault.Value == unclosedQuote {
			break
		}
		end = pos + recordEnd(b.Text[pos:], t.Delimiter)
		line += int64(bytes.Count(b.Text[pos:end], []byte{'\n'}))
		pos = end
	}
	return r, nil
}

// unclosedQuote marks the fault after which there is nothing to go on with.
const unclosedQuote = "\""

func (t *Tokens) wanted() int {
	n := 0
	for _, s := range t.Slots {
		if s >= 0 {
			n++
		}
	}
	return n
}

// NoSlots says that none of n fields is wanted.
func NoSlots(n int) []int {
	slots := make([]int, n)
	for i := range slots {
		slots[i] = -1
	}
	return slots
}

// emptyLine is the length of the end of line that text begins with, or 0.
func emptyLine(text []byte) int {
	switch {
	case text[0] == '\n':
		return 1
	case text[0] == '\r' && len(text) > 1 && text[1] == '\n':
		return 2
	case text[0] == '\r' && len(text) == 1:
		return 1
	}
	return 0
}

// record cuts the record at pos and returns where the next one begins.
func (t *Tokens) record(r *Records, pos int) (end int, fault *Fault) {
	text := r.text
	base := len(r.fields)
	r.fields = slices.Grow(r.fields, r.width)[:base+r.width]
	t.within = false
	for column := 0; ; column++ {
		var f fieldSpan
		var next int
		if pos < len(text) && text[pos] == '"' {
			f, next, fault = quotedField(text, pos, t.Delimiter)
			t.within = t.within || f.lines
		} else {
			f, next, fault = plainField(text, pos, t.Delimiter)
		}
		if fault != nil {
			fault.Column = column + 1
			if column < len(t.Names) {
				fault.Name = t.Names[column]
			}
			return 0, fault
		}
		if t.Names == nil {
			r.fields = append(r.fields, f)
		} else if column >= len(t.Names) {
			return 0, t.tooMany(text, pos, column)
		} else if k := t.Slots[column]; k >= 0 {
			r.fields[base+k] = f
		}
		if next < len(text) && text[next] == t.Delimiter {
			pos = next + 1
			continue
		}
		if t.Names != nil && column+1 < len(t.Names) {
			return 0, &Fault{Column: column + 2, Name: t.Names[column+1], Text: fmt.Sprintf("the record ends after %d of %d fields", column+1, len(t.Names))}
		}
		return lineEnd(text, next), nil
	}
}

// tooMany is the fault of a record that goes on behind its last column.
func (t *Tokens) tooMany(text []byte, pos, column int) *Fault {
	rest := text[pos : pos+recordEnd(text[pos:], t.Delimiter)]
	extra := 1 + bytes.Count(rest, []byte{t.Delimiter})
	value := string(bytes.TrimRight(rest[:min(len(rest), 80)], "\r\n"))
	return &Fault{Column: column + 1, Value: value, Text: fmt.Sprintf("the record has %d fields, not %d: there is %.40q more", column+extra, len(t.Names), value)}
}

// lineEnd is the place behind the end of line at pos.
func lineEnd(text []byte, pos int) int {
	if pos < len(text) && text[pos] == '\r' {
		pos++
	}
	return min(pos+1, len(text))
}

// everyByte times a byte is a word of it.
const everyByte = 0x0101010101010101

// zeroByte is not 0 where a word has a byte 0: its lowest bit is that byte's
// highest.
func zeroByte(w uint64) uint64 { return (w - everyByte) &^ w & (everyByte << 7) }

// plainField cuts a field without quotes; next is the delimiter or end of line
// behind it.
func plainField(text []byte, pos int, delim byte) (f fieldSpan, next int, fault *Fault) {
	end := pos
	delims := uint64(delim) * everyByte
	for end+8 <= len(text) {
		w := binary.LittleEndian.Uint64(text[end:])
		if stop := zeroByte(w^delims) | zeroByte(w^'\n'*everyByte) | zeroByte(w^'"'*everyByte); stop != 0 {
			end += bits.TrailingZeros64(stop) >> 3
			break
		}
		end += 8
	}
	for end < len(text) {
		c := text[end]
		if c == delim || c == '\n' {
			break
		}
		if c == '"' {
			upTo := end + 1
			for upTo < len(text) && text[upTo] != delim && text[upTo] != '\n' {
				upTo++
			}
			value := string(text[pos:min(upTo, pos+80)])
			return f, 0, &Fault{Value: value, Text: fmt.Sprintf("a quote inside of %.40q: such a field is written in quotes, and quotes in it twice", value)}
		}
		end++
	}
	next = end
	if end > pos && text[end-1] == '\r' && (end == len(text) || text[end] == '\n') {
		end--
		next = end
	}
	return fieldSpan{from: uint32(pos), to: uint32(end)}, next, nil
}

// quotedField cuts a field in quotes, which pos is at.
func quotedField(text []byte, pos int, delim byte) (f fieldSpan, next int, fault *Fault) {
	f = fieldSpan{from: uint32(pos + 1), quoted: true}
	for at := pos + 1; ; {
		for {
			if at+8 > len(text) {
				q := bytes.IndexByte(text[at:], '"')
				if q < 0 {
					return f, 0, &Fault{Value: unclosedQuote, Text: fmt.Sprintf("a quote is not closed before the end of the file: %.40q", text[pos:min(len(text), pos+40)])}
				}
				f.lines = f.lines || bytes.IndexByte(text[at:at+q], '\n') >= 0
				at += q + 1
				break
			}
			w := binary.LittleEndian.Uint64(text[at:])
			quotes, ends := zeroByte(w^'"'*everyByte), zeroByte(w^'\n'*everyByte)
			if quotes == 0 {
				f.lines = f.lines || ends != 0
				at += 8
				continue
			}
			f.lines = f.lines || ends&(quotes-1)&^quotes != 0
			at += bits.TrailingZeros64(quotes)>>3 + 1
			break
		}
		if at < len(text) && text[at] == '"' {
			f.doubled = true
			at++
			continue
		}
		ends := at == len(text) || text[at] == delim || text[at] == '\n' ||
			text[at] == '\r' && (at+1 == len(text) || text[at+1] == '\n')
		if !ends {
			value := string(text[f.from:min(at-1, pos+81)])
			return f, 0, &Fault{Value: value, Text: fmt.Sprintf("%q after the closing quote of %.40q", text[at], value)}
		}
		f.to = uint32(at - 1)
		return f, at, nil
	}
}

// Header cuts the first record and gives its fields and what follows it.
func (t *Tokens) Header(b Block) (names []string, rest Block, fault *Fault) {
	for len(b.Text) > 0 {
		n := emptyLine(b.Text)
		if n == 0 {
			break
		}
		b.Text, b.Line = b.Text[n:], b.Line+1
	}
	if len(b.Text) == 0 {
		return nil, b, &Fault{Text: "there is no header"}
	}
	r := &Records{text: b.Text}
	end, fault := t.record(r, 0)
	if fault != nil {
		fault.Line = b.Line
		return nil, b, fault
	}
	r.width, r.lines = len(r.fields), []int64{b.Line}
	for k := range r.fields {
		name, _ := r.Field(0, k)
		if !utf8.Valid(name) {
			return nil, b, &Fault{Line: b.Line, Column: k + 1, Value: string(name), Text: fmt.Sprintf("the name %q is not UTF-8", name)}
		}
		names = append(names, string(name))
	}
	rest = Block{Text: b.Text[end:], Line: b.Line + int64(bytes.Count(b.Text[:end], []byte{'\n'}))}
	return names, rest, nil
}
