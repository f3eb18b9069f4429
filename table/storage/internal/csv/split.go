package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/volley-go/volley/internal/delimit"
)

// blockBytes is about how much text one job parses.
const blockBytes = 1 << 20

// Block is whole records of a file.
type Block struct {
	Text []byte
	Line int64 // of its first byte, from 1
	Lent bool  // the text's room is somebody else's
}

// Release gives the text's room back; nothing may refer to it any more.
func (b *Block) Release() {
	text := b.Text
	b.Text = nil
	if !b.Lent {
		blockTexts.Put(&text)
	}
}

// Splitter cuts a text into blocks at ends of records, which are ends of
// lines outside of quotes. It only looks at quotes and what stands before
// them, which goes at the speed of memory where quotes are regular; the workers do the rest.
type Splitter struct {
	r      io.Reader
	delim  byte
	most   int // bytes of a record
	rest   []byte
	line   int64
	at     int64 // in the text, of what follows the last block
	opened bool
	eof    bool
	cr     crLines
}

// NewSplitter cuts the text of a reader, whose records take at most so many bytes.
func NewSplitter(r io.Reader, delim byte, most int) *Splitter {
	return &Splitter{r: r, delim: delim, most: most}
}

// Offset is where in the text what follows the last block begins.
func (s *Splitter) Offset() int64 { return s.at }

// CarriageReturns reports whether lines end with carriage returns alone; blocks have line
// feeds in their place.
func (s *Splitter) CarriageReturns() bool { return s.cr.on }

// LineFeeds puts line feeds in place of the carriage returns that end lines of a block.
func LineFeeds(text []byte) { (&crLines{on: true}).feed(text) }

// crLines has a text whose lines end with carriage returns alone, as old Macs wrote
// them, end them with line feeds, of which all else knows. Those in quotes stay.
type crLines struct{ on, quoted bool }

// endsWithCR reports whether the first line of a text, outside of quotes, ends with a
// carriage return that no line feed follows.
func endsWithCR(text []byte, eof bool) bool {
	quoted := false
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n':
			return false
		case c == '\r':
			return i+1 == len(text) && eof || i+1 < len(text) && text[i+1] != '\n'
		}
	}
	return false
}

// feed changes the ends of lines of a text that goes on where the one before ended.
func (c *crLines) feed(text []byte) {
	for i := 0; c.on && i < len(text); i++ {
		switch {
		case text[i] == '"':
			c.quoted = !c.quoted
		case text[i] == '\r' && !c.quoted && (i+1 == len(text) || text[i+1] != '\n'):
			text[i] = '\n'
		}
	}
}

// Next is the next block, or io.EOF. A record longer than most is an error.
func (s *Splitter) Next() (Block, error) {
	if !s.opened {
		s.line = 1
	}
	buf := s.rest
	s.rest = nil
	scan := recordScan{delim: s.delim}
	for {
		if !s.eof {
			var err error
			if buf, err = s.fill(buf); err != nil {
				return Block{}, err
			}
		}
		if !s.opened {
			s.opened = true
			if bytes.HasPrefix(buf, []byte("\xff\xfe")) || bytes.HasPrefix(buf, []byte("\xfe\xff")) {
				return Block{}, &Fault{Text: "the text is UTF-16, not UTF-8"}
			}
			whole := len(buf)
			buf = bytes.TrimPrefix(buf, []byte("\ufeff"))
			s.at = int64(whole - len(buf))
			s.cr.on = endsWithCR(buf, s.eof)
			s.cr.feed(buf)
		}
		if len(buf) == 0 && s.eof {
			return Block{}, io.EOF
		}
		if end := s.regular(buf, scan.pos == 0); end > 0 {
			return s.cut(buf, end), nil
		}
		scan.run(buf, s.eof)
		if s.eof && (!scan.quoted || len(buf) <= s.most) {
			return s.cut(buf, len(buf)), nil // the tokenizer names a quote that is not closed
		}
		if scan.end > 0 {
			return s.cut(buf, scan.end), nil
		}
		if len(buf) > s.most {
			return Block{}, &Fault{Line: s.line, Text: fmt.Sprintf("the record that begins here takes more than %d bytes: a quote that is not closed, or see CSVOptions.MaxRecord", s.most)}
		}
	}
}

// regular is where a text that was not looked at yet can be cut if its quotes are regular, else 0.
// The parity of quotes says what is quoted then.
func (s *Splitter) regular(buf []byte, fresh bool) int {
	if !fresh {
		return 0
	}
	t := delimit.Best().Look(buf, s.delim)
	switch {
	case !t.Regular:
		return 0
	case s.eof && !t.Open:
		return len(buf)
	case s.eof:
		return 0
	}
	return t.End
}

// fill reads about a block more.
func (s *Splitter) fill(buf []byte) ([]byte, error) {
	had := len(buf)
	grown := s.room(had + blockBytes)
	copy(grown, buf)
	n, err := io.ReadFull(s.r, grown[had:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.eof, err = true, nil
	}
	s.cr.feed(grown[had : had+n])
	return grown[:had+n], err
}

// blockTexts are the texts of blocks that were parsed.
var blockTexts sync.Pool

// room is n bytes for a block.
func (s *Splitter) room(n int) []byte {
	if b, ok := blockTexts.Get().(*[]byte); ok && cap(*b) >= n {
		return (*b)[:n]
	}
	return make([]byte, n+n/8)[:n]
}

// cut gives a block and keeps a copy of what follows it: whoever parses the
// block gives its room back.
func (s *Splitter) cut(buf []byte, end int) Block {
	b := Block{Text: buf[:end], Line: s.line}
	s.rest = append([]byte(nil), buf[end:]...)
	s.at += int64(end)
	s.line += int64(bytes.Count(b.Text, []byte{'\n'}))
	return b
}

// recordScan finds ends of records. A quote opens a quoted field only where a
// field begins; elsewhere it is a fault that the tokenizer names.
type recordScan struct {
	delim  byte
	quoted bool
	pos    int // looked at so far
	end    int // behind the last record that is complete
	first  bool
	last   [2]int // the last text outside of quotes that has an end of line
}

// run goes on to the end of buf, whose beginning it has seen.
func (s *recordScan) run(buf []byte, eof bool) {
	s.last = [2]int{}
	s.look(buf, eof)
	if nl := bytes.LastIndexByte(buf[s.last[0]:s.last[1]], '\n'); nl >= 0 {
		s.end = s.last[0] + nl + 1
	}
}

func (s *recordScan) look(buf []byte, eof bool) {
	for s.pos < len(buf) {
		q := bytes.IndexByte(buf[s.pos:], '"')
		if !s.quoted {
			plain := buf[s.pos:]
			if q >= 0 {
				plain = plain[:q]
			}
			if nl := bytes.IndexByte(plain, '\n'); nl >= 0 {
				s.last = [2]int{s.pos + nl, s.pos + len(plain)}
				if s.first {
					s.last[1] = s.last[0] + 1
					return
				}
			}
			if q < 0 {
				s.pos = len(buf)
				return
			}
			at := s.pos + q
			s.quoted = at == 0 || buf[at-1] == s.delim || buf[at-1] == '\n'
			s.pos = at + 1
			continue
		}
		if q < 0 {
			s.pos = len(buf)
			return
		}
		at := s.pos + q
		switch {
		case at+1 < len(buf) && buf[at+1] == '"':
			s.pos = at + 2
		case at+1 < len(buf) || eof:
			s.quoted = false
			s.pos = at + 1
		default: // whether it is doubled stands in what is not read yet
			s.pos = at
			return
		}
	}
}

// recordEnd is where the record that text begins with ends, behind its end of
// line.
func recordEnd(text []byte, delim byte) int {
	s := recordScan{delim: delim, first: true}
	s.run(text, true)
	if s.end > 0 {
		return s.end
	}
	return len(text)
}
