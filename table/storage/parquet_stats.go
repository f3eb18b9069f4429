package storage

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// ranges gives what the statistics of a row group tell of each column that has
// one leaf of the same type. What is missing, of an order that is not known,
// or contradicts itself is left unknown.
func (f *parquetFile) ranges(g int) map[string]expr.Range {
	all := map[string]expr.Range{}
	rg := f.meta.RowGroup(g)
	for i, field := range f.schema.Fields() {
		r := expr.Range{Nulls: -1, Rows: rg.NumRows()}
		if leaves := f.leaves[i]; len(leaves) == 1 && f.meta.Schema.Column(leaves[0]).MaxRepetitionLevel() == 0 && !arrow.IsNested(field.Type.ID()) {
			f.statistics(rg, leaves[0], field.Type, &r)
		}
		all[field.Name] = r
	}
	return all
}

func (f *parquetFile) statistics(rg *metadata.RowGroupMetaData, leaf int, t arrow.DataType, r *expr.Range) {
	rows := r.Rows
	defer func() {
		if recover() != nil { // statistics of the wrong width
			*r = expr.Range{Nulls: -1, Rows: rows}
		}
	}()
	chunk, err := rg.ColumnChunk(leaf)
	if err != nil {
		return
	}
	stats, err := chunk.Statistics()
	if err != nil || stats == nil {
		return
	}
	if s, ok := stats.(*metadata.ByteArrayStatistics); ok && s.HasMinMax() {
		r.Distinct = distinctTexts(chunk, float64(len(s.Min())+len(s.Max()))/2)
	}
	if n := stats.NullCount(); stats.HasNullCount() && n >= 0 && n <= rows {
		r.Nulls = n
	}
	if !stats.HasMinMax() {
		return
	}
	if low, high, ok := bounds(stats, f.meta.Schema.Column(leaf), t); ok {
		r.Min, r.Max = low, high
	}
}

// distinctTexts guesses from the sizes of a chunk how many texts its dictionary has, of about so
// many bytes each: a dictionary of so many and an index of so many bits for each row fill it. It
// gives 0 where there is no dictionary.
func distinctTexts(c *metadata.ColumnChunkMetaData, length float64) int64 {
	const prefix, headers, share = 4, 50, 0.98 // of a text its length; of pages what is no value
	rows := float64(c.NumValues())
	if !c.HasDictionaryPage() || rows <= 0 {
		return 0
	}
	packed := float64(c.DataPageOffset()-c.DictionaryPageOffset()-headers) / (prefix + length) // if indices are few, in runs
	guess := max(1, packed)
	for width := 1; width < 32; width++ {
		most := math.Ldexp(1, width)
		d := (share*float64(c.TotalUncompressedSize()) - headers - rows*float64(width)/8) / (prefix + length)
		if d <= most {
			guess = max(guess, d, most/2+1)
			break
		}
	}
	return int64(min(guess, rows))
}

// bounds are the least and greatest value as scalars of type t. ok is false
// where they are not those of t's own order.
func bounds(s metadata.TypedStatistics, leaf *schema.Column, t arrow.DataType) (low, high kernels.Scalar, ok bool) {
	switch s := s.(type) {
	case *metadata.BooleanStatistics:
		ok = t.ID() == arrow.BOOL && (!s.Min() || s.Max())
		return kernels.Bool(s.Min()), kernels.Bool(s.Max()), ok
	case *metadata.Int32Statistics:
		return integerBounds(int64(s.Min()), int64(s.Max()), leaf, t)
	case *metadata.Int64Statistics:
		return integerBounds(s.Min(), s.Max(), leaf, t)
	case *metadata.Float32Statistics:
		return floatBounds(float64(s.Min()), float64(s.Max()), t, arrow.FLOAT32)
	case *metadata.Float64Statistics:
		return floatBounds(s.Min(), s.Max(), t, arrow.FLOAT64)
	case *metadata.ByteArrayStatistics:
		return textBounds(s.Min(), s.Max(), t)
	case *metadata.FixedLenByteArrayStatistics:
		if d, is := t.(*arrow.Decimal128Type); is {
			low, high := bigEndian(s.Min()), bigEndian(s.Max())
			return kernels.Decimal(d, low), kernels.Decimal(d, high), !high.Less(low)
		}
	}
	return low, high, false
}

func integerBounds(a, b int64, leaf *schema.Column, t arrow.DataType) (low, high kernels.Scalar, ok bool) {
	ordered := a <= b
	switch t.ID() {
	case arrow.UINT8, arrow.UINT16, arrow.UINT32:
		a, b = int64(uint32(a)), int64(uint32(b))
		ordered = a <= b
	case arrow.UINT64:
		ordered = uint64(a) <= uint64(b)
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.DATE32, arrow.DURATION:
	case arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP:
		if !sameUnit(leaf.LogicalType(), t) {
			return low, high, false
		}
	case arrow.DECIMAL128:
		return kernels.Decimal(t, decimal128.FromI64(a)), kernels.Decimal(t, decimal128.FromI64(b)), ordered
	default: // date64 is stored as days
		return low, high, false
	}
	return kernels.Int(t, a), kernels.Int(t, b), ordered
}

// sameUnit reports whether the file stores a time in the unit of t: what was
// written in seconds is stored in milliseconds.
func sameUnit(stored schema.LogicalType, t arrow.DataType) bool {
	var unit schema.TimeUnitType
	switch l := stored.(type) {
	case schema.TimestampLogicalType:
		unit = l.TimeUnit()
	case *schema.TimestampLogicalType:
		unit = l.TimeUnit()
	case schema.TimeLogicalType:
		unit = l.TimeUnit()
	case *schema.TimeLogicalType:
		unit = l.TimeUnit()
	default:
		return false
	}
	switch t.(arrow.TemporalWithUnit).TimeUnit() {
	case arrow.Millisecond:
		return unit == schema.TimeUnitMillis
	case arrow.Microsecond:
		return unit == schema.TimeUnitMicros
	case arrow.Nanosecond:
		return unit == schema.TimeUnitNanos
	}
	return false
}

// floatBounds gives none where a writer let NaN into them. A zero stands for
// either sign of zero, which compare equal.
func floatBounds(a, b float64, t arrow.DataType, id arrow.Type) (low, high kernels.Scalar, ok bool) {
	if t.ID() != id || math.IsNaN(a) || math.IsNaN(b) || a > b {
		return low, high, false
	}
	return kernels.Float(t, a), kernels.Float(t, b), true
}

// textBounds serve also where they were cut short: a cut minimum is below the
// real one, and a cut maximum was made greater by the writer. An empty maximum
// is how one is read that the writer left out.
func textBounds(a, b []byte, t arrow.DataType) (low, high kernels.Scalar, ok bool) {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY:
		return kernels.Text(t, string(a)), kernels.Text(t, string(b)), len(b) > 0 && string(a) <= string(b)
	}
	return low, high, false
}

// bigEndian is a decimal as Parquet stores it: two's complement, from the top.
func bigEndian(b []byte) decimal128.Num {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return decimal128.FromBigInt(v)
}

// pruner tells of each row group of a file whether rows of it may pass the
// predicate. A predicate that does not bind to the columns is an error.
func pruner(path string, s *arrow.Schema, predicate *expr.Expr) (func(*parquetFile, int) bool, error) {
	if predicate == nil {
		return func(*parquetFile, int) bool { return true }, nil
	}
	bound, err := predicate.Bind(s)
	if err != nil {
		return nil, inFile(path, "predicate", err, device.ErrMismatch)
	}
	return func(f *parquetFile, g int) bool {
		ranges := f.ranges(g)
		return bound.MayBeTrue(func(column string) (expr.Range, bool) {
			r, ok := ranges[column]
			return r, ok
		})
	}, nil
}
