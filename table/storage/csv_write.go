package storage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

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

func (o CSVWriteOptions) sink(w io.Writer, path string, schema *arrow.Schema, _ *arena) (sink, error) {
	if o.Delimiter == 0 {
		o.Delimiter = ','
	}
	read := CSVOptions{Delimiter: o.Delimiter}
	if err := read.check(); err != nil {
		return nil, err
	}
	s := &csvSink{w: w, options: o}
	for i, f := range schema.Fields() {
		t := f.Type
		if d, ok := t.(*arrow.DictionaryType); ok {
			t = d.ValueType
		}
		if _, err := parserOf(t); err != nil && t.ID() != arrow.NULL {
			return nil, unsupported(path, f.Name, "columns of type %s in CSV", f.Type)
		}
		if !o.NoHeader {
			s.separate(i)
			s.quote([]byte(f.Name), false)
		}
	}
	if !o.NoHeader && schema.NumFields() > 0 {
		s.out = append(s.out, '\n')
	}
	return s, nil
}

type csvSink struct {
	w       io.Writer
	options CSVWriteOptions
	out     []byte
	value   []byte
}

// separate puts the delimiter in front of all fields but the first.
func (s *csvSink) separate(field int) {
	if field > 0 {
		s.out = append(s.out, s.options.Delimiter)
	}
}

// quote puts a text into quotes where it needs them.
func (s *csvSink) quote(b []byte, always bool) {
	if !always && string(b) != s.options.Null && len(b) > 0 && bytes.IndexByte(b, s.options.Delimiter) < 0 && !bytes.ContainsAny(b, "\"\r\n") {
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

func (s *csvSink) write(rec arrow.RecordBatch) error {
	columns := make([]func(row int), rec.NumCols())
	for i := range columns {
		f, err := s.formatter(rec.Column(i))
		if err != nil {
			return fmt.Errorf("column %q: %w", rec.ColumnName(i), err)
		}
		columns[i] = f
	}
	for row := range int(rec.NumRows()) {
		for i, column := range columns {
			s.separate(i)
			if c := rec.Column(i); c.DataType().ID() == arrow.NULL || c.IsNull(row) {
				s.null()
				continue
			}
			column(row)
		}
		if len(columns) > 0 {
			s.out = append(s.out, '\n')
		}
		if len(s.out) > 1<<16 {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *csvSink) null() { s.out = append(s.out, s.options.Null...) }

func (s *csvSink) flush() error {
	_, err := s.w.Write(s.out)
	s.out = s.out[:0]
	return err
}

func (s *csvSink) close() error { return s.flush() }

// formatter appends the value of a row that is not null.
func (s *csvSink) formatter(c arrow.Array) (func(row int), error) {
	plain := func(f func(b []byte, row int) []byte) func(int) {
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

// fractions are the layouts of a second's digits by unit.
var fractions = map[arrow.TimeUnit]string{arrow.Second: "", arrow.Millisecond: ".000", arrow.Microsecond: ".000000", arrow.Nanosecond: ".000000000"}

func timeFormatter(c arrow.Array) (func(b []byte, row int) []byte, error) {
	const day, clock = "2006-01-02", "15:04:05"
	switch c := c.(type) {
	case *array.Date32:
		return func(b []byte, row int) []byte { return c.Value(row).ToTime().AppendFormat(b, day) }, nil
	case *array.Date64:
		return func(b []byte, row int) []byte { return c.Value(row).ToTime().AppendFormat(b, day) }, nil
	case *array.Time32:
		unit := c.DataType().(*arrow.Time32Type).Unit
		return func(b []byte, row int) []byte {
			return time.Unix(0, int64(c.Value(row))*int64(unit.Multiplier())).UTC().AppendFormat(b, clock+fractions[unit])
		}, nil
	case *array.Time64:
		unit := c.DataType().(*arrow.Time64Type).Unit
		return func(b []byte, row int) []byte {
			return time.Unix(0, int64(c.Value(row))*int64(unit.Multiplier())).UTC().AppendFormat(b, clock+fractions[unit])
		}, nil
	case *array.Timestamp:
		t := c.DataType().(*arrow.TimestampType)
		layout := day + " " + clock + fractions[t.Unit]
		if t.TimeZone != "" {
			layout = day + "T" + clock + fractions[t.Unit] + "Z"
		}
		return func(b []byte, row int) []byte { return pointOf(int64(c.Value(row)), t.Unit).AppendFormat(b, layout) }, nil
	}
	return nil, fmt.Errorf("columns of type %s in CSV", c.DataType())
}

// pointOf is a count of units since 1970 in UTC, over the whole range of int64.
func pointOf(v int64, u arrow.TimeUnit) time.Time {
	each := int64(time.Second / u.Multiplier())
	return time.Unix(v/each, v%each*int64(u.Multiplier())).UTC()
}
