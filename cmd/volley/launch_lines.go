package main

import (
	"bytes"
	"io"
	"sync"
)

// longestLine is where a line that does not end is broken.
const longestLine = 64 << 10

// prefixed passes on whole lines with a prefix.
type prefixed struct {
	to     io.Writer
	prefix string
	lines  *sync.Mutex
	rest   []byte // a line that has not ended
}

// Write passes on the lines that are complete.
func (p *prefixed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	var out []byte
	for {
		i := bytes.IndexByte(p.rest, '\n') + 1
		if i == 0 && len(p.rest) < longestLine {
			break
		}
		line := p.rest[:len(p.rest):len(p.rest)]
		if i > 0 {
			line = p.rest[:i]
		}
		out = append(append(out, p.prefix...), line...)
		if i == 0 {
			out = append(out, '\n')
		}
		p.rest = p.rest[len(line):]
	}
	return len(b), p.pass(out)
}

// end passes on a last line without an end.
func (p *prefixed) end() error {
	if len(p.rest) == 0 {
		return nil
	}
	last := append(append([]byte(p.prefix), p.rest...), '\n')
	p.rest = nil
	return p.pass(last)
}

func (p *prefixed) pass(out []byte) error {
	if len(out) == 0 {
		return nil
	}
	p.lines.Lock()
	defer p.lines.Unlock()
	_, err := p.to.Write(out)
	return err
}
