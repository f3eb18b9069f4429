package storage

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
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

// pruner tells of each row group of a file whether rows of it may pass the predicate, and what it
// states of the columns by which it might have been left out. A predicate that does not bind to
// the columns is an error.
func pruner(path string, s *arrow.Schema, predicate *expr.Expr) (func(*parquetFile, int) (map[string]expr.Range, bool), error) {
	if predicate == nil {
		return func(*parquetFile, int) (map[string]expr.Range, bool) { return nil, true }, nil
	}
	bound, err := predicate.Bind(s)
	if err != nil {
		return nil, inFile(path, "predicate", err, device.ErrMismatch)
	}
	return func(f *parquetFile, g int) (map[string]expr.Range, bool) {
		ranges, used := f.ranges(g), map[string]expr.Range{}
		may := bound.MayBeTrue(func(column string) (expr.Range, bool) {
			r, ok := ranges[column]
			if ok {
				used[column] = r
			}
			return r, ok
		})
		return used, may
	}, nil
}

// claim is what a file states of a column in some rows of a row group, a page or all: others may
// have been left out by it, so it is held against the values of those that are read.
type claim struct {
	rowSpan
	part string // for errors
	says expr.Range
}

// within is what is stated of a page, held against what is stated of its row group.
func within(page, group expr.Range) expr.Range {
	if known(group.Min) && (!known(page.Min) || kernels.CompareKeys(page.Min, group.Min) < 0) {
		page.Min = group.Min
	}
	if known(group.Max) && (!known(page.Max) || kernels.CompareKeys(page.Max, group.Max) > 0) {
		page.Max = group.Max
	}
	return page
}

func known(v kernels.Scalar) bool { return v.Type() != nil && v.Valid() }

// claims are those of field k: of its pages, which are within the bounds of the row group, or of the
// row group alone.
func (r *groupReader) claims(k int) []claim {
	if r.work.pages != nil && r.work.pages[k] != nil {
		return r.work.pages[k]
	}
	if says, used := r.stated[r.file.schema.Field(r.fields[k]).Name]; used {
		return []claim{{rowSpan{0, math.MaxInt64}, rowGroup(r.g), says}}
	}
	return nil
}

// hold checks values of field k, which are those of the rows from a row on, against what is stated.
func (r *groupReader) hold(k int, from int64, c *memory.Column) error {
	for _, cl := range r.claims(k) {
		if a, b := max(cl.from, from)-from, min(cl.to-from, c.Len()); a < b {
			if err := r.holdRows(k, cl, c, a, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// holdPicked is hold of some of the rows, of which it is not known in which pages they are.
func (r *groupReader) holdPicked(k int, c *memory.Column) error {
	says, used := r.stated[r.file.schema.Field(r.fields[k]).Name]
	if !used {
		return nil
	}
	return r.holdRows(k, claim{part: rowGroup(r.g), says: says}, c, 0, c.Len())
}

// holdRows checks rows [a, b) of a column.
func (r *groupReader) holdRows(k int, cl claim, c *memory.Column, a, b int64) error {
	if at := outside(c, a, b, cl.says); at >= 0 {
		return r.lie(k, cl, kernels.ScalarAt(c, at))
	}
	if cl.says.Nulls < 0 {
		return nil
	}
	nulls := int64(0)
	if valid := c.Validity(); valid != nil {
		nulls = b - a - valid.Count(c.Offset()+a, b-a)
	}
	return r.holdNulls(k, cl, b-a, nulls)
}

// holdNulls checks how many of some rows are null.
func (r *groupReader) holdNulls(k int, cl claim, rows, nulls int64) error {
	if says := cl.says.Nulls; says >= 0 && (nulls > says || says == cl.says.Rows && nulls < rows) {
		return r.falsely(k, cl, "%d of %d values are null, where its statistics state %d of %d", nulls, rows, says, cl.says.Rows)
	}
	return nil
}

// holdCodes is hold of values that are coded by a dictionary, of which so many are null.
func (r *groupReader) holdCodes(k int, from int64, codes []uint32, nulls int64) error {
	values := r.work.values[k]
	for _, cl := range r.claims(k) {
		a, b := max(cl.from, from)-from, min(cl.to-from, int64(len(codes)))
		if a >= b {
			continue
		}
		if b-a == int64(len(codes)) {
			if err := r.holdNulls(k, cl, b-a, nulls); err != nil {
				return err
			}
		}
		if values.Len() > max(64, b-a) && cl.to < math.MaxInt64 { // of a page, whose values are fewer
			some, err := r.flat[k].ofCodes(codes[a:b], false)
			if err == nil {
				err = r.holdRows(k, cl, some, 0, some.Len())
				some.Release()
			}
			if err != nil {
				return err
			}
			continue
		}
		wrong := r.work.wrong[k]
		if cl.to < math.MaxInt64 {
			wrong = outsiders(values, cl.says)
		}
		for _, code := range codes[a:b] {
			if wrong == nil {
				break
			}
			if wrong[code] {
				return r.lie(k, cl, kernels.ScalarAt(values, int64(code)))
			}
		}
	}
	return nil
}

// lie is the error of a value that lies beyond what is stated.
func (r *groupReader) lie(k int, cl claim, v kernels.Scalar) error {
	if known(cl.says.Min) && kernels.CompareKeys(v, cl.says.Min) < 0 {
		return r.falsely(k, cl, "it has the value %s, below %s, the least that its statistics state", v, cl.says.Min)
	}
	return r.falsely(k, cl, "it has the value %s, above %s, the greatest that its statistics state", v, cl.says.Max)
}

func (r *groupReader) falsely(k int, cl claim, format string, args ...any) error {
	err := damaged(r.file.path, cl.part, format, args...).(*Error)
	err.Name = r.file.schema.Field(r.fields[k]).Name
	return err
}

// outsiders marks the values of a column that lie beyond what is stated; nil where none does.
func outsiders(c *memory.Column, says expr.Range) (wrong []bool) {
	for at := outside(c, 0, c.Len(), says); at >= 0; at = outside(c, at+1, c.Len(), says) {
		if wrong == nil {
			wrong = make([]bool, c.Len())
		}
		wrong[at] = true
	}
	return wrong
}

// outside is the first of rows [a, b) of a column whose value lies beyond what is stated, -1 where
// none does. Nulls and NaNs lie nowhere. It reads each value once.
func outside(c *memory.Column, a, b int64, says expr.Range) int64 {
	low, high := says.Min, says.Max
	if !known(low) || !known(high) || !arrow.TypeEqual(low.Type(), c.Type()) || !arrow.TypeEqual(high.Type(), c.Type()) {
		return -1
	}
	switch c.Type().ID() {
	case arrow.BOOL:
		return boolOutside(c, a, b, low.Bool(), high.Bool())
	case arrow.INT8:
		return wholeOutside[int8](c, a, b, low, high)
	case arrow.INT16:
		return wholeOutside[int16](c, a, b, low, high)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return wholeOutside[int32](c, a, b, low, high)
	case arrow.INT64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return wholeOutside[int64](c, a, b, low, high)
	case arrow.UINT8:
		return wholeOutside[uint8](c, a, b, low, high)
	case arrow.UINT16:
		return wholeOutside[uint16](c, a, b, low, high)
	case arrow.UINT32:
		return wholeOutside[uint32](c, a, b, low, high)
	case arrow.UINT64:
		return wholeOutside[uint64](c, a, b, low, high)
	case arrow.FLOAT32:
		return floatOutside(c, a, b, float32(low.Float64()), float32(high.Float64()))
	case arrow.FLOAT64:
		return floatOutside(c, a, b, low.Float64(), high.Float64())
	case arrow.DECIMAL128:
		return decimalOutside(c, a, b, low.Decimal(), high.Decimal())
	case arrow.STRING, arrow.BINARY:
		return textOutside[int32](c, a, b, low.Text(), high.Text())
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return textOutside[int64](c, a, b, low.Text(), high.Text())
	}
	return -1
}

func boolOutside(c *memory.Column, a, b int64, low, high bool) int64 {
	for i := a; i < b && (low || !high); i++ {
		if v := c.Bits().Get(c.Offset() + i); (v && !high || !v && low) && !c.IsNull(i) {
			return i
		}
	}
	return -1
}

func wholeOutside[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](c *memory.Column, a, b int64, low, high kernels.Scalar) int64 {
	least, span := low.Uint64(), high.Uint64()-low.Uint64()
	if kernels.CompareKeys(low, high) > 0 { // nothing lies between them
		for a < b && c.IsNull(a) {
			a++
		}
		if a < b {
			return a
		}
		return -1
	}
	for i, v := range memory.Values[T](c)[a:b] {
		if uint64(v)-least > span && !c.IsNull(a+int64(i)) { // one comparison: what is below low wraps
			return a + int64(i)
		}
	}
	return -1
}

func floatOutside[T float32 | float64](c *memory.Column, a, b int64, low, high T) int64 {
	for i, v := range memory.Values[T](c)[a:b] {
		if (v < low || v > high) && !c.IsNull(a+int64(i)) {
			return a + int64(i)
		}
	}
	return -1
}

func decimalOutside(c *memory.Column, a, b int64, low, high decimal128.Num) int64 {
	for i, w := range memory.Values[[2]uint64](c)[a:b] {
		v := decimal128.New(int64(w[1]), w[0])
		if (v.Less(low) || high.Less(v)) && !c.IsNull(a+int64(i)) {
			return a + int64(i)
		}
	}
	return -1
}

// textOutside looks at the first eight bytes alone where these tell.
func textOutside[T int32 | int64](c *memory.Column, a, b int64, low, high string) int64 {
	offsets, data := memory.Offsets[T](c)[a:b+1], c.Buffer(2).Bytes()
	least, most := leading([]byte(low)), leading([]byte(high))
	for i := range offsets[1:] {
		text := data[offsets[i]:offsets[i+1]]
		if first := leading(text); first > least && first < most {
			continue
		}
		if (string(text) < low || string(text) > high) && !c.IsNull(a+int64(i)) {
			return a + int64(i)
		}
	}
	return -1
}

// leading is the first eight bytes of a text as a number in the order of texts, zeros behind a
// shorter one.
func leading(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	v := uint64(0)
	for i, x := range b {
		v |= uint64(x) << (56 - 8*i)
	}
	return v
}
