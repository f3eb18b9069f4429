package storage

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/volley-go/volley/table"
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
	head := newCSVText(o)
	for i, f := range schema.Fields() {
		t := f.Type
		if d, ok := t.(*arrow.DictionaryType); ok {
			t = d.ValueType
		}
		if _, err := parserOf(t); err != nil && t.ID() != arrow.NULL {
			return nil, unsupported(path, f.Name, "columns of type %s in CSV", f.Type)
		}
		if !o.NoHeader {
			head.separate(i)
			head.quote([]byte(f.Name), false)
		}
	}
	if !o.NoHeader && schema.NumFields() > 0 {
		head.out = append(head.out, '\n')
	}
	if _, err := w.Write(head.out); err != nil {
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
			t := newCSVText(s.options)
			err := t.write(ctx, s.encoders.path, part)
			return t.out, err
		}, part.Release)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *csvSink) close() error { return s.encoders.finish() }

func (s *csvSink) stop() { s.encoders.stop() }

// csvText is records as text.
type csvText struct {
	options CSVWriteOptions
	special [256]bool // bytes for which a text is put in quotes
	out     []byte
	value   []byte
}

func newCSVText(o CSVWriteOptions) *csvText {
	s := &csvText{options: o}
	for _, c := range []byte{o.Delimiter, '"', '\r', '\n'} {
		s.special[c] = true
	}
	return s
}

// separate puts the delimiter in front of all fields but the first.
func (s *csvText) separate(field int) {
	if field > 0 {
		s.out = append(s.out, s.options.Delimiter)
	}
}

// quote puts a text into quotes where it needs them.
func (s *csvText) quote(b []byte, always bool) {
	if !always && len(b) > 0 && !s.needsQuotes(b) && string(b) != s.options.Null {
		s.out = append(s.out, b...)
		return
	}
	s.out = append(s.out, '"')
	for _, c := range b {
		if c == '"' {
			s.out = append(s.out, '"')
		}
		s.out = append(s.out, c)
	}
	s.out = append(s.out, '"')
}

func (s *csvText) needsQuotes(b []byte) bool {
	for _, c := range b {
		if s.special[c] {
			return true
		}
	}
	return false
}

// write appends the rows of a record.
func (s *csvText) write(ctx context.Context, path string, rec arrow.RecordBatch) error {
	columns := make([]func(row int), rec.NumCols())
	nulls := make([]arrow.Array, len(columns)) // those that have some
	for i := range columns {
		c := rec.Column(i)
		f, err := s.formatter(c)
		if err != nil {
			return fmt.Errorf("column %q: %w", rec.ColumnName(i), err)
		}
		columns[i] = f
		if c.DataType().ID() == arrow.NULL || c.NullN() > 0 {
			nulls[i] = c
		}
	}
	for row := range int(rec.NumRows()) {
		if row%256 == 0 {
			if err := canceled(ctx, path); err != nil {
				return err
			}
		}
		for i, column := range columns {
			s.separate(i)
			if c := nulls[i]; c != nil && (c.DataType().ID() == arrow.NULL || c.IsNull(row)) {
				s.null()
				continue
			}
			column(row)
		}
		if len(columns) > 0 {
			s.out = append(s.out, '\n')
		}
	}
	return nil
}

func (s *csvText) null() { s.out = append(s.out, s.options.Null...) }

// bare says that numbers, times and bools never need quotes: no byte of them is
// the delimiter, and none reads as a null.
func (s *csvText) bare() bool {
	return s.options.Null == "" && !strings.ContainsRune("0123456789+-.:eE TZNaInftrules", rune(s.options.Delimiter))
}

// formatter appends the value of a row that is not null.
func (s *csvText) formatter(c arrow.Array) (func(row int), error) {
	plain := func(f func(b []byte, row int) []byte) func(int) {
		if s.bare() {
			return func(row int) { s.out = f(s.out, row) }
		}
		return func(row int) {
			s.value = f(s.value[:0], row)
			s.quote(s.value, false)
		}
	}
	switch c := c.(type) {
	case *array.Null:
		return func(int) {}, nil
	case *array.Boolean:
		return plain(func(b []byte, row int) []byte { return strconv.AppendBool(b, c.Value(row)) }), nil
	case *array.Int8:
		return plain(func(b []byte, row int) []byte { return strconv.AppendInt(b, int64(c.Value(row)), 10) }), nil
	case *array.Int16:
		return plain(func(b []byte, row int) []byte { return strconv.AppendInt(b, int64(c.Value(row)), 10) }), nil
	case *array.Int32:
		return plain(func(b []byte, row int) []byte { return strconv.AppendInt(b, int64(c.Value(row)), 10) }), nil
	case *array.Int64:
		return plain(func(b []byte, row int) []byte { return strconv.AppendInt(b, c.Value(row), 10) }), nil
	case *array.Duration:
		return plain(func(b []byte, row int) []byte { return strconv.AppendInt(b, int64(c.Value(row)), 10) }), nil
	case *array.Uint8:
		return plain(func(b []byte, row int) []byte { return strconv.AppendUint(b, uint64(c.Value(row)), 10) }), nil
	case *array.Uint16:
		return plain(func(b []byte, row int) []byte { return strconv.AppendUint(b, uint64(c.Value(row)), 10) }), nil
	case *array.Uint32:
		return plain(func(b []byte, row int) []byte { return strconv.AppendUint(b, uint64(c.Value(row)), 10) }), nil
	case *array.Uint64:
		return plain(func(b []byte, row int) []byte { return strconv.AppendUint(b, c.Value(row), 10) }), nil
	case *array.Float32:
		return plain(func(b []byte, row int) []byte { return appendFloat(b, float64(c.Value(row)), 32) }), nil
	case *array.Float64:
		return plain(func(b []byte, row int) []byte { return appendFloat(b, c.Value(row), 64) }), nil
	case *array.Decimal128:
		scale := c.DataType().(*arrow.Decimal128Type).Scale
		return plain(func(b []byte, row int) []byte { return append(b, c.Value(row).ToString(scale)...) }), nil
	case *array.String:
		return func(row int) { s.quote([]byte(c.Value(row)), false) }, nil
	case *array.LargeString:
		return func(row int) { s.quote([]byte(c.Value(row)), false) }, nil
	case *array.Binary:
		return func(row int) { s.quote(c.Value(row), false) }, nil
	case *array.LargeBinary:
		return func(row int) { s.quote(c.Value(row), false) }, nil
	case *array.Dictionary:
		values, err := s.formatter(c.Dictionary())
		return func(row int) {
			k := c.GetValueIndex(row)
			if c.Dictionary().IsNull(k) {
				s.null()
				return
			}
			values(k)
		}, err
	default:
		f, err := timeFormatter(c)
		return plain(f), err
	}
}

// appendFloat writes the fewest digits that read back as v.
func appendFloat(b []byte, v float64, size int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 0):
		return strconv.AppendFloat(b, v, 'g', -1, size)
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.AppendFloat(b, v, 'f', 1, size) // 3.0, so that the column is read as floats again
	}
	return strconv.AppendFloat(b, v, 'g', -1, size)
}
