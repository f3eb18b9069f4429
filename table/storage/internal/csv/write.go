package csv

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Text is records as text.
type Text struct {
	delim   byte
	nulls   string    // how a null is written
	special [256]bool // bytes for which a text is put in quotes
	Bytes   []byte    // the text so far
	value   []byte
}

// NewText is no text yet, of fields with a delimiter between them, in which nulls read so.
func NewText(delim byte, null string) *Text {
	s := &Text{delim: delim, nulls: null}
	for _, c := range []byte{delim, '"', '\r', '\n'} {
		s.special[c] = true
	}
	return s
}

// separate puts the delimiter in front of all fields but the first.
func (s *Text) separate(field int) {
	if field > 0 {
		s.Bytes = append(s.Bytes, s.delim)
	}
}

// quote puts a text into quotes where it needs them.
func (s *Text) quote(b []byte, always bool) {
	if !always && len(b) > 0 && !s.needsQuotes(b) && string(b) != s.nulls {
		s.Bytes = append(s.Bytes, b...)
		return
	}
	s.Bytes = append(s.Bytes, '"')
	for _, c := range b {
		if c == '"' {
			s.Bytes = append(s.Bytes, '"')
		}
		s.Bytes = append(s.Bytes, c)
	}
	s.Bytes = append(s.Bytes, '"')
}

func (s *Text) needsQuotes(b []byte) bool {
	for _, c := range b {
		if s.special[c] {
			return true
		}
	}
	return false
}

// Header appends a record of names.
func (s *Text) Header(names []string) {
	for i, name := range names {
		s.separate(i)
		s.quote([]byte(name), false)
	}
	if len(names) > 0 {
		s.Bytes = append(s.Bytes, '\n')
	}
}

// Records appends the rows of a record, until stopped gives an error.
func (s *Text) Records(rec arrow.RecordBatch, stopped func() error) error {
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
			if err := stopped(); err != nil {
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
			s.Bytes = append(s.Bytes, '\n')
		}
	}
	return nil
}

func (s *Text) null() { s.Bytes = append(s.Bytes, s.nulls...) }

// bare says that numbers, times and bools never need quotes: no byte of them is
// the delimiter, and none reads as a null.
func (s *Text) bare() bool {
	return s.nulls == "" && !strings.ContainsRune("0123456789+-.:eE TZNaInftrules", rune(s.delim))
}

// formatter appends the value of a row that is not null.
func (s *Text) formatter(c arrow.Array) (func(row int), error) {
	plain := func(f func(b []byte, row int) []byte) func(int) {
		if s.bare() {
			return func(row int) { s.Bytes = f(s.Bytes, row) }
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
