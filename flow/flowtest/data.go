package flowtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/flow"
)

// values are what rows hold.
type values struct {
	name  string
	rows  int
	nulls int  // one in so many is null; 0 none, 1 all
	keys  int  // different ones
	same  bool // all rows of a batch, but for x, m and id, as those of a file in a folder whose name says values
	far   bool // k and m lie far apart, of both signs; some floats are NaN, infinite or a zero
	long  bool // texts begin alike for more bytes than lie beside a length
	few   bool // run in few shapes, for few workers
}

// shape is how rows lie.
type shape struct {
	name   string
	sliced bool // out of longer columns, from an odd row on
	texts  texts
	whole  bool // one batch
	parts  bool // workers read parts of the source
}

var allValues = []values{
	{name: "plain", rows: 83, keys: 5},
	{name: "nulls", rows: 83, nulls: 4, keys: 5},
	{name: "all null", rows: 40, nulls: 1, keys: 5},
	{name: "one key", rows: 60, keys: 1},
	{name: "unlike keys", rows: 83, nulls: 9, keys: 1000},
	{name: "one row", rows: 1, keys: 1},
	{name: "none", keys: 1},
	{name: "constants", rows: 83, nulls: 4, keys: 5, same: true},
	{name: "far apart", rows: 83, nulls: 9, keys: 9, far: true, few: true},
	{name: "long texts", rows: 83, nulls: 9, keys: 9, long: true, few: true},
}

var allShapes = []shape{
	{name: "plain"},
	{name: "slices", sliced: true},
	{name: "dictionaries", texts: oneDictionary, sliced: true},
	{name: "own dictionaries", texts: ownDictionaries, sliced: true, parts: true},
	{name: "parts", parts: true},
	{name: "one batch", whole: true},
}

// schemaOf has a key of few values, a text, one of many values, a float, a decimal, a bool and the row's number.
func schemaOf(s shape) *arrow.Schema {
	var text arrow.DataType = arrow.BinaryTypes.String
	if s.texts != plainTexts {
		text = dictionaryType
	}
	fields := []arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: text}, {Name: "m", Type: arrow.PrimitiveTypes.Int64},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64}, {Name: "d", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean}, {Name: "id", Type: arrow.PrimitiveTypes.Int64},
	}
	for i := range fields {
		fields[i].Nullable = true
	}
	return arrow.NewSchema(fields, nil)
}

// batchesOf are rows in a shape, in batches of odd lengths, some of none. The same seed gives the same rows in
// every shape.
func batchesOf(v values, s shape, seed uint64) ([]*flow.Batch, error) {
	const margin = 3 // rows around those of a slice
	before := 0
	if s.sliced {
		before = margin
	}
	record := recordOf(v, before, seed)
	defer record.Release()
	if s.texts == oneDictionary {
		one := withDictionary(record, seed)
		defer one.Release()
		record = one
	}
	var out []*flow.Batch
	for at, n := 0, 1; at < v.rows; n = nextLength(n) {
		if n = min(n, v.rows-at); s.whole {
			n = v.rows
		}
		parts, err := partOf(record, s, at, n, before, seed+uint64(at))
		if err != nil {
			return nil, err
		}
		out, at = append(out, parts...), at+n
	}
	return out, nil
}

// nextLength is how many rows the batch behind one of n rows has.
func nextLength(n int) int { return n*3%41 + 1 }

// partOf is a batch of rows, and one of none.
func partOf(record arrow.RecordBatch, s shape, at, n, before int, seed uint64) ([]*flow.Batch, error) {
	record = record.NewSlice(int64(at), int64(at+n+2*before)) // with the rows around it
	defer record.Release()
	if s.texts == ownDictionaries {
		own := withDictionary(record, seed)
		defer own.Release()
		record = own
	}
	all, err := flow.BatchOf(record)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	part, err := all.Slice(int64(before), int64(n))
	if err != nil {
		return nil, err
	}
	empty, err := all.Slice(int64(before), 0)
	return []*flow.Batch{part, empty}, err
}

// recordOf are rows with some around them, texts without a dictionary.
func recordOf(v values, before int, seed uint64) arrow.RecordBatch {
	r := rand.New(rand.NewPCG(seed, 7))
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schemaOf(shape{}))
	defer b.Release()
	left, length, batch := 1, 1, uint64(0) // rows of the batch at hand, its length, its number
	for i := range v.rows + 2*before {
		row := r
		if i < before || i >= v.rows+before {
			row = rand.New(rand.NewPCG(uint64(i), 1))
		} else if left == 0 {
			length = nextLength(length)
			left, batch = length, batch+1
		}
		same := row
		if v.same {
			same = rand.New(rand.NewPCG(seed+batch, 5))
		}
		appendRow(b, v, row, same, i-before)
		if i >= before {
			left--
		}
	}
	return b.NewRecordBatch()
}

// appendRow adds a row: x and m of what row gives, the others of what same does.
func appendRow(b *array.RecordBuilder, v values, row, same *rand.Rand, id int) {
	k, m, x, d := same.IntN(v.keys), row.IntN(30), row.NormFloat64(), same.IntN(20000)
	text := m
	if v.same {
		text = k
	}
	for i, f := range b.Fields() {
		from := same
		if i == 2 || i == 3 {
			from = row
		}
		if v.nulls > 0 && from.IntN(v.nulls) == 0 && i < len(b.Fields())-1 {
			f.AppendNull()
			continue
		}
		switch f := f.(type) {
		case *array.Int64Builder:
			f.Append([]int64{0: v.numberOf(k, 2, 41), 2: v.numberOf(m, 8, 33), 6: int64(id)}[i])
		case *array.StringBuilder:
			f.Append(v.textOf(k, text))
		case *array.Float64Builder:
			f.Append(v.floatOf(x, m))
		case *array.Decimal128Builder:
			f.Append(decimal128.FromI64(int64(d)))
		case *array.BooleanBuilder:
			f.Append(d%3 == 0)
		}
	}
}

// numberOf is a number of a few, or one far from all others: too far for a bit or a slot of each value between.
func (v values) numberOf(n, zero, shift int) int64 {
	if v.far {
		return int64(n-zero) << shift
	}
	return int64(n)
}

// floatOf is a float, or one that has a rule of its own as a key, as the least or greatest, or in a sort.
func (v values) floatOf(x float64, m int) float64 {
	if special := []float64{math.NaN(), math.Copysign(0, -1), 0, math.Inf(1), -math.NaN(), math.Inf(-1)}; v.far && m < len(special) {
		return special[m]
	}
	return x
}

func (v values) textOf(k, m int) string {
	text := fmt.Sprintf("%c%d", 'a'+rune(k%20), m%3)
	switch {
	case !v.long:
		return text
	case m%5 == 0: // the first bytes tell nothing apart, and letters have several
		return "über die gleichen ersten Bytes " + text
	case m%5 == 1: // as another, and more
		return text + " und mehr als zwölf Bytes"
	}
	return text
}
