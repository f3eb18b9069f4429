package storage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage/internal/csv"
)

// csvSpan is where a block of text is.
type csvSpan struct {
	span
	line int64
	cr   bool // lines end with carriage returns
}

// lineFeeds puts line feeds in place of the carriage returns that end lines of the text.
func (s csvSpan) lineFeeds(text []byte) {
	if s.cr {
		csv.LineFeeds(text)
	}
}

// openCSV finds the blocks, and counts their records.
func (p *Pieces) openCSV(ctx context.Context, b *kernels.Backend, s *CSVSource) (err error) {
	if p.schema, err = s.inFiles(ctx); err != nil {
		return err
	}
	if s.options.Lenient {
		return unsupported(s.Name(), "", "CSV in pieces is not read leniently")
	}
	var names []string
	for _, f := range p.schema.Fields() {
		names = append(names, f.Name)
	}
	for _, path := range s.paths {
		if err := p.indexCSV(ctx, b, s, path, names); err != nil {
			return err
		}
	}
	return nil
}

// indexCSV finds the blocks of a file. It stays open.
func (p *Pieces) indexCSV(ctx context.Context, b *kernels.Backend, s *CSVSource, path string, names []string) error {
	f, err := s.open(ctx, path, names)
	if err != nil {
		return err
	}
	if err := p.opened(f.input, 0, f.close); err != nil {
		return err
	}
	at := int64(-1) // of the next block; the first one begins behind the header
	for {
		block, err := f.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		size := int64(len(block.Text))
		if at < 0 {
			at = f.split.Offset() - size
		}
		lines := csvSpan{span{at, size}, block.Line, f.split.CarriageReturns()}
		at += size
		rows, err := s.countRows(path, block, names)
		if err != nil {
			return err
		}
		block.Release()
		if rows > 0 {
			p.pieces = append(p.pieces, piece{part: fmt.Sprintf("lines from %d", block.Line), path: path, in: f.input, rows: rows,
				spans: func(*arrow.Schema) []span { return []span{lines.span} },
				read: func(ctx context.Context, want *arrow.Schema, there *fetched, emit func(*table.Batch) error) error {
					return s.readSpan(ctx, b, f.input, lines, names, want, there, emit)
				}})
		}
	}
}

// countRows is how many records a block has.
func (s *CSVSource) countRows(path string, b csv.Block, names []string) (int64, error) {
	if g := csv.GridOf(b.Text, s.options.delimiter(), len(names)); g != nil {
		defer g.Release()
		return int64(g.Rows), nil
	}
	t := &csv.Tokens{Delimiter: s.options.delimiter(), Names: names, Slots: csv.NoSlots(len(names)), Bad: func(fault *csv.Fault) error { return wrongText(path, fault) }}
	r, err := t.Records(b, 0)
	if err != nil {
		return 0, err
	}
	defer r.Release()
	return int64(r.Rows()), nil
}

// readSpan parses a block that was found before.
func (s *CSVSource) readSpan(ctx context.Context, b *kernels.Backend, in *input, at csvSpan, names []string, want *arrow.Schema, there *fetched, emit func(*table.Batch) error) error {
	scan := &csvScanner{source: s, backend: b, want: want, names: names, slots: csv.NoSlots(len(names))}
	for i, name := range names {
		k := want.FieldIndices(name)
		if len(k) == 0 {
			continue
		}
		scan.slots[i] = len(scan.columns)
		typ := want.Field(k[0]).Type
		parser, err := csv.ParserOf(typ)
		if err != nil {
			return inFile(in.path, "", err, nil)
		}
		_, given := s.options.Types[name]
		scan.columns = append(scan.columns, csv.Column{Name: name, Number: i + 1, Type: typ, Parser: parser, Given: given})
	}
	if text := there.bytes(at.at, at.size); text != nil { // of which no column keeps anything
		at.lineFeeds(text)
		return emitted(emit)(scan.parse(in.path, csv.Block{Text: text, Line: at.line, Lent: true}))
	}
	text := make([]byte, at.size)
	if n, err := (&until{ctx: ctx, in: in}).ReadAt(text, at.at); n < len(text) {
		if errors.Is(err, io.EOF) {
			return damaged(in.path, "", "it ends before offset %d", at.at+at.size)
		}
		return inFile(in.path, "", err, device.ErrUnavailable)
	}
	at.lineFeeds(text)
	return emitted(emit)(scan.parse(in.path, csv.Block{Text: text, Line: at.line}))
}
