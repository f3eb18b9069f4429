package flowtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
)

// texts is how texts lie.
type texts int

const (
	plainTexts      texts = iota
	oneDictionary         // that all batches share
	ownDictionaries       // each batch has one: its values are others, or stand elsewhere
)

// dictionaryType is that of texts with a dictionary.
var dictionaryType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}

// withDictionary is a record whose texts have a dictionary, in an order that the seed gives, with values that no
// row has, and a null. Of rows without a text some refer to that null, others have no index.
func withDictionary(record arrow.RecordBatch, seed uint64) arrow.RecordBatch {
	const column = 1
	plain := record.Column(column).(*array.String)
	r := rand.New(rand.NewPCG(seed, 11))
	values, at := valuesOf(plain, r)
	defer values.Release()
	rows := array.NewInt8Builder(arrowmemory.DefaultAllocator)
	defer rows.Release()
	for row := range plain.Len() {
		switch {
		case plain.IsValid(row):
			rows.Append(at[plain.Value(row)])
		case r.IntN(2) == 0:
			rows.Append(at[""])
		default:
			rows.AppendNull()
		}
	}
	indices := rows.NewInt8Array()
	defer indices.Release()
	encoded := array.NewDictionaryArray(dictionaryType, indices, values)
	defer encoded.Release()
	columns := append([]arrow.Array{}, record.Columns()...)
	columns[column] = encoded
	return array.NewRecordBatch(schemaOf(shape{texts: oneDictionary}), columns, record.NumRows())
}

// valuesOf is a dictionary of the texts of a column, and where each stands. Where the null stands is under "".
func valuesOf(plain *array.String, r *rand.Rand) (*array.String, map[string]int8) {
	at := map[string]int8{}
	var all []string
	add := func(text string) {
		if _, there := at[text]; !there {
			at[text] = 0
			all = append(all, text)
		}
	}
	add("")
	for i := range 3 {
		add(fmt.Sprintf("of no row %d", i))
	}
	for row := range plain.Len() {
		if plain.IsValid(row) {
			add(plain.Value(row))
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	values := array.NewStringBuilder(arrowmemory.DefaultAllocator)
	defer values.Release()
	for i, text := range all {
		if at[text] = int8(i); text == "" {
			values.AppendNull()
		} else {
			values.Append(text)
		}
	}
	return values.NewStringArray(), at
}
