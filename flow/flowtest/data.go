package flowtest

import (
	"fmt"
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
	nulls int // one in so many is null; 0 none, 1 all
	keys  int // different ones
}

// shape is how rows lie.
type shape struct {
	name       string
	sliced     bool // out of longer columns, from an odd row on
	dictionary bool // texts
	whole      bool // one batch
	parts      bool // workers read parts of the source
}

var allValues = []values{
	{"plain", 83, 0, 5},
	{"nulls", 83, 4, 5},
	{"all null", 40, 1, 5},
	{"one key", 60, 0, 1},
	{"unlike keys", 83, 9, 1000},
	{"one row", 1, 0, 1},
	{"none", 0, 0, 1},
}

var allShapes = []shape{
	{name: "plain"},
	{name: "slices", sliced: true},
	{name: "dictionaries", dictionary: true, sliced: true},
	{name: "parts", parts: true},
	{name: "one batch", whole: true},
}

// schemaOf has a key of few values, a text, one of many values, a float, a decimal, a bool and the row's number.
func schemaOf(s shape) *arrow.Schema {
	var text arrow.DataType = arrow.BinaryTypes.String
	if s.dictionary {
		text = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: text}
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
	r := rand.New(rand.NewPCG(seed, 7))
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schemaOf(s))
	defer b.Release()
	before := 0
	if s.sliced {
		before = margin
	}
	for i := range v.rows + 2*before {
		row := r
		if i < before || i >= v.rows+before {
			row = rand.New(rand.NewPCG(uint64(i), 1))
		}
		appendRow(b, v, row, i-before)
	}
	record := b.NewRecordBatch()
	defer record.Release()
	all, err := flow.BatchOf(record)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	var out []*flow.Batch
	for at, n := 0, 1; at < v.rows; n = n*3%41 + 1 {
		if n = min(n, v.rows-at); s.whole {
			n = v.rows
		}
		part, err := all.Slice(int64(at+before), int64(n))
		if err != nil {
			return nil, err
		}
		empty, err := all.Slice(int64(at), 0)
		if err != nil {
			return nil, err
		}
		out, at = append(out, part, empty), at+n
	}
	return out, nil
}

func appendRow(b *array.RecordBuilder, v values, r *rand.Rand, id int) {
	k, m, x, d := r.IntN(v.keys), r.IntN(30), r.NormFloat64(), r.IntN(20000)
	for i, f := range b.Fields() {
		if v.nulls > 0 && r.IntN(v.nulls) == 0 && i < len(b.Fields())-1 {
			f.AppendNull()
			continue
		}
		switch f := f.(type) {
		case *array.Int64Builder:
			f.Append(int64([]int{0: k, 2: m, 6: id}[i]))
		case *array.StringBuilder:
			f.Append(textOf(k, m))
		case *array.BinaryDictionaryBuilder:
			_ = f.AppendString(textOf(k, m)) // has room for all
		case *array.Float64Builder:
			f.Append(x)
		case *array.Decimal128Builder:
			f.Append(decimal128.FromI64(int64(d)))
		case *array.BooleanBuilder:
			f.Append(d%3 == 0)
		}
	}
}

func textOf(k, m int) string {
	return fmt.Sprintf("%c%d", 'a'+rune(k%20), m%3)
}
