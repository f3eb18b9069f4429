package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"
)

// csvField is the place of a field's text in its block.
type csvField struct {
	from, to uint32
	quoted   bool
	doubled  bool // it has quotes written twice
	lines    bool // it has ends of lines
}

// csvRecords are the records of a block, and of each the wanted fields.
type csvRecords struct {
	text   []byte
	fields []csvField // wanted ones, record after record
	width  int        // wanted fields of a record
	lines  []int64    // where each record begins
}

// csvRoom keeps what records were cut into for the next block.
var csvRoom = sync.Pool{New: func() any { return new(csvRecords) }}

// release gives up the records: their room goes to those of another block.
func (r *csvRecords) release() {
	r.text = nil
	csvRoom.Put(r)
}

// reset empties the records for those of a text, with room for as many as it
// has lines.
func (r *csvRecords) reset(text []byte, width int) {
	rows := bytes.Count(text, []byte{'\n'}) + 1
	if cap(r.lines) < rows {
		r.lines = make([]int64, 0, rows+rows/8)
	}
	if cap(r.fields) < rows*width {
		r.fields = make([]csvField, 0, (rows+rows/8)*width)
	}
	r.text, r.width, r.fields, r.lines = text, width, r.fields[:0], r.lines[:0]
}

func (r *csvRecords) rows() int { return len(r.lines) }

// field is the text of wanted field k of a record.
func (r *csvRecords) field(row, k int) (text []byte, quoted bool) {
	f := r.fields[row*r.width+k]
	text = r.text[f.from:f.to]
	if f.doubled {
		text = bytes.ReplaceAll(text, []byte(`""`), []byte(`"`))
	}
	return text, f.quoted
}

// drop takes out the records whose numbers, in order, are given.
func (r *csvRecords) drop(rows []int) {
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

// csvTokens cuts blocks into fields.
type csvTokens struct {
	path  string
	delim byte
	names []string // of all columns; nil before the header is known
	slots []int    // of all columns: the wanted field's number, or -1
	bad   func(*Error) error

	within bool // the record that was cut last has ends of lines in its fields
}

// records cuts a block, up to most records; 0 means all. Empty lines are
// passed over, but where there is one column: there they are an empty field. A
// record that is wrong goes to bad: an error that it returns ends the work, nil
// leaves the record out.
func (t *csvTokens) records(b csvBlock, most int) (*csvRecords, error) {
	r := csvRoom.Get().(*csvRecords)
	r.reset(b.text, t.wanted())
	line := b.line
	for pos := 0; pos < len(b.text) && (most == 0 || r.rows() < most); {
		if n := emptyLine(b.text[pos:]); n > 0 && len(t.names) != 1 {
			pos, line = pos+n, line+1
			continue
		}
		had := len(r.fields)
		end, fault := t.record(r, pos)
		if fault == nil {
			r.lines = append(r.lines, line)
			if t.within {
				line += int64(bytes.Count(b.text[pos:end], []byte{'\n'}))
			} else {
				line++
			}
			pos = end
			continue
		}
		r.fields = r.fields[:had]
		fault.Path, fault.Line, fault.Kind = t.path, line, ErrFormat
		if err := t.bad(fault); err != nil {
			return nil, err
		}
		if fault.Value == csvUnclosed {
			break
		}
		end = pos + recordEnd(b.text[pos:], t.delim)
		line += int64(bytes.Count(b.text[pos:end], []byte{'\n'}))
		pos = end
	}
	return r, nil
}

// csvUnclosed marks the fault after which there is nothing to go on with.
const csvUnclosed = "\""

func (t *csvTokens) wanted() int {
	n := 0
	for _, s := range t.slots {
		if s >= 0 {
			n++
		}
	}
	return n
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
func (t *csvTokens) record(r *csvRecords, pos int) (end int, fault *Error) {
	text := r.text
	base := len(r.fields)
	r.fields = slices.Grow(r.fields, r.width)[:base+r.width]
	t.within = false
	for column := 0; ; column++ {
		var f csvField
		var next int
		if pos < len(text) && text[pos] == '"' {
			f, next, fault = quotedField(text, pos, t.delim)
			t.within = t.within || f.lines
		} else {
			f, next, fault = plainField(text, pos, t.delim)
		}
		if fault != nil {
			fault.Column = column + 1
			if column < len(t.names) {
				fault.Name = t.names[column]
			}
			return 0, fault
		}
		if t.names == nil {
			r.fields = append(r.fields, f)
		} else if column >= len(t.names) {
			return 0, t.tooMany(text, pos, column)
		} else if k := t.slots[column]; k >= 0 {
			r.fields[base+k] = f
		}
		if next < len(text) && text[next] == t.delim {
			pos = next + 1
			continue
		}
		if t.names != nil && column+1 < len(t.names) {
			return 0, &Error{Column: column + 2, Name: t.names[column+1], Text: fmt.Sprintf("the record ends after %d of %d fields", column+1, len(t.names))}
		}
		return lineEnd(text, next), nil
	}
}

// tooMany is the fault of a record that goes on behind its last column.
func (t *csvTokens) tooMany(text []byte, pos, column int) *Error {
	rest := text[pos : pos+recordEnd(text[pos:], t.delim)]
	extra := 1 + bytes.Count(rest, []byte{t.delim})
	value := string(bytes.TrimRight(rest[:min(len(rest), 80)], "\r\n"))
	return &Error{Column: column + 1, Value: value, Text: fmt.Sprintf("the record has %d fields, not %d: there is %.40q more", column+extra, len(t.names), value)}
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
func plainField(text []byte, pos int, delim byte) (f csvField, next int, fault *Error) {
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
			return f, 0, &Error{Value: value, Text: fmt.Sprintf("a quote inside of %.40q: such a field is written in quotes, and quotes in it twice", value)}
		}
		end++
	}
	next = end
	if end > pos && text[end-1] == '\r' && (end == len(text) || text[end] == '\n') {
		end--
		next = end
	}
	return csvField{from: uint32(pos), to: uint32(end)}, next, nil
}

// quotedField cuts a field in quotes, which pos is at.
func quotedField(text []byte, pos int, delim byte) (f csvField, next int, fault *Error) {
	f = csvField{from: uint32(pos + 1), quoted: true}
	for at := pos + 1; ; {
		for {
			if at+8 > len(text) {
				q := bytes.IndexByte(text[at:], '"')
				if q < 0 {
					return f, 0, &Error{Value: csvUnclosed, Text: fmt.Sprintf("a quote is not closed before the end of the file: %.40q", text[pos:min(len(text), pos+40)])}
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
			return f, 0, &Error{Value: value, Text: fmt.Sprintf("%q after the closing quote of %.40q", text[at], value)}
		}
		f.to = uint32(at - 1)
		return f, at, nil
	}
}

// header cuts the first record and gives its fields and what follows it.
func (t *csvTokens) header(b csvBlock) (names []string, rest csvBlock, err error) {
	for len(b.text) > 0 {
		n := emptyLine(b.text)
		if n == 0 {
			break
		}
		b.text, b.line = b.text[n:], b.line+1
	}
	if len(b.text) == 0 {
		return nil, b, damaged(t.path, "", "there is no header")
	}
	r := &csvRecords{text: b.text}
	end, fault := t.record(r, 0)
	if fault != nil {
		fault.Path, fault.Line, fault.Kind = t.path, b.line, ErrFormat
		return nil, b, fault
	}
	r.width, r.lines = len(r.fields), []int64{b.line}
	for k := range r.fields {
		name, _ := r.field(0, k)
		if !utf8.Valid(name) {
			return nil, b, &Error{Path: t.path, Line: b.line, Column: k + 1, Value: string(name), Kind: ErrFormat, Text: fmt.Sprintf("the name %q is not UTF-8", name)}
		}
		names = append(names, string(name))
	}
	rest = csvBlock{text: b.text[end:], line: b.line + int64(bytes.Count(b.text[:end], []byte{'\n'}))}
	return names, rest, nil
}
