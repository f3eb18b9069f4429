package table

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// TestJoinsOfTextsInEveryForm joins texts with short and long offsets, with a dictionary and without, with each other.
func TestJoinsOfTextsInEveryForm(t *testing.T) {
	b := testBackend(t)
	dictionary := func(of arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: of}
	}
	forms := []arrow.DataType{
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, dictionary(arrow.BinaryTypes.String), dictionary(arrow.BinaryTypes.LargeString),
	}
	// texts is a table of texts, "" a null, in a form, and of their numbers.
	texts := func(form arrow.DataType, all ...string) *Query {
		plain, coded := form, false
		if d, ok := form.(*arrow.DictionaryType); ok {
			plain, coded = d.ValueType, true
		}
		values, rows, numbers := array.NewBuilder(arrowmemory.DefaultAllocator, plain), array.NewInt8Builder(arrowmemory.DefaultAllocator), array.NewInt64Builder(arrowmemory.DefaultAllocator)
		for i, s := range all {
			if rows.Append(int8(slices.Index(all, s))); s == "" {
				values.AppendNull()
			} else {
				require.NoError(t, values.AppendValueFromString(s))
			}
			numbers.Append(int64(i))
		}
		column := values.NewArray()
		if coded { // one of its values is null, and one is of no row
			column = array.NewDictionaryArray(form, rows.NewArray(), column)
		}
		schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: form, Nullable: true}, {Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
		record := array.NewRecordBatch(schema, []arrow.Array{column, numbers.NewArray()}, int64(len(all)))
		defer record.Release()
		made, err := FromRecords(b, schema, record)
		require.NoError(t, err)
		t.Cleanup(made.Release)
		return From(made)
	}
	for _, x := range forms {
		for _, y := range forms {
			left, right := texts(x, "b", "ä", "", "a", "b"), texts(y, "a", "", "b", "a", "z")
			for kind, want := range map[Kind][]string{
				Inner: {"0|2", "3|0", "3|3", "4|2"},
				Full:  {"0|2", "1|null", "2|null", "3|0", "3|3", "4|2", "null|1", "null|4"},
				Anti:  {"1", "2"},
			} {
				q := left.Join(right, kind, On("s"))
				if kind == Anti {
					q = q.Select("id")
				} else {
					q = q.Select("id", "id_right")
				}
				equalRows(t, fmt.Sprintf("%s join of %s and %s", kind, x, y), collect(t, q), want)
			}
		}
	}
}
