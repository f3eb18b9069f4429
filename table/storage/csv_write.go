package storage

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage/internal/csv"
)

// CSVWriteOptions say how CSV is written.
type CSVWriteOptions struct {
	// Delimiter stands between fields; 0 means a comma.
	Delimiter byte
	// NoHeader leaves out the record of names.
	NoHeader bool
	// Null is the text of a null; a value that reads so is written in quotes.
	Null string
}

// WriteCSV writes a table to a CSV file as RFC 4180 has it, with \n at the ends
// of lines. Floats have the digits that bring them back, timestamps those of
// their unit and, with a zone, an offset of Z. What is written comes back the
// same with the types given, for years 0 to 9999. List, struct and float16 columns are
// ErrUnsupported. It replaces the file when all is written.
func WriteCSV(ctx context.Context, t *table.Table, path string, o CSVWriteOptions) error {
	return writeTable(ctx, t, path, nil, o.sink)
}

// WriteCSVTo writes a table as CSV to w.
func WriteCSVTo(ctx context.Context, t *table.Table, w io.Writer, o CSVWriteOptions) error {
	return writeTable(ctx, t, "csv", w, o.sink)
}

func (o CSVWriteOptions) sink(ctx context.Context, w io.Writer, path string, schema *arrow.Schema, _ *arena) (sink, error) {
	if o.Delimiter == 0 {
		o.Delimiter = ','
	}
	read := CSVOptions{Delimiter: o.Delimiter}
	if err := read.check(); err != nil {
		return nil, err
	}
	head, names := csv.NewText(o.Delimiter, o.Null), []string(nil)
	for _, f := range schema.Fields() {
		t := f.Type
		if d, ok := t.(*arrow.DictionaryType); ok {
			t = d.ValueType
		}
		if _, err := csv.ParserOf(t); err != nil && t.ID() != arrow.NULL {
			return nil, unsupported(path, f.Name, "columns of type %s in CSV", f.Type)
		}
		names = append(names, f.Name)
	}
	if !o.NoHeader {
		head.Header(names)
	}
	if _, err := w.Write(head.Bytes); err != nil {
		return nil, err
	}
	s := &csvSink{options: o}
	s.encoders = newEncoders(ctx, path, func(text []byte) error {
		_, err := w.Write(text)
		return err
	})
	return s, nil
}

// csvRows is how many rows are made text at once.
const csvRows = 1 << 13

// csvSink has pieces of the records made text in parallel.
type csvSink struct {
	options  CSVWriteOptions
	encoders *encoders[[]byte]
}

func (s *csvSink) write(rec arrow.RecordBatch) error {
	for at := int64(0); at < rec.NumRows(); at += csvRows {
		part := rec.NewSlice(at, min(at+csvRows, rec.NumRows()))
		err := s.encoders.add(func(ctx context.Context) ([]byte, error) {
			t := csv.NewText(s.options.Delimiter, s.options.Null)
			err := t.Records(part, func() error { return canceled(ctx, s.encoders.path) })
			return t.Bytes, err
		}, part.Release)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *csvSink) close() error { return s.encoders.finish() }

func (s *csvSink) stop() { s.encoders.stop() }
