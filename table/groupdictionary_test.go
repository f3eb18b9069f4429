package table

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	amemory "github.com/apache/arrow-go/v18/arrow/memory"
)

// Chunks whose dictionaries differ group as their texts do.
func TestGroupByDictionaries(t *testing.T) {
	b := testBackend(t)
	var got [2][]string
	for i, typ := range []arrow.DataType{arrow.BinaryTypes.String, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: typ, Nullable: true}, {Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
		var records []arrow.RecordBatch
		for _, lines := range []string{
			`[{"c":"a","id":1},{"c":"b","id":2},{"c":null,"id":3},{"c":"a","id":4}]`,
			`[{"c":"c","id":5},{"c":"b","id":6},{"c":"a","id":7}]`,
			`[{"c":null,"id":8}]`,
			`[{"c":"d","id":9},{"c":"c","id":10}]`,
		} {
			record, _, err := array.RecordFromJSON(amemory.DefaultAllocator, schema, strings.NewReader(lines))
			if err != nil {
				t.Fatal(err)
			}
			defer record.Release()
			records = append(records, record)
		}
		table, err := FromRecords(b, schema, records...)
		if err != nil {
			t.Fatal(err)
		}
		defer table.Release()
		for _, q := range []*Query{From(table).GroupBy("c").Agg(Count(), Sum("id")), From(table).GroupBy("c").DropNullKeys().Agg(Count(), Sum("id"))} {
			got[i] = append(got[i], collect(t, q)...)
		}
	}
	if len(got[0]) != 9 || strings.Join(got[0], "\n") != strings.Join(got[1], "\n") {
		t.Fatalf("by texts %q, by dictionaries %q", got[0], got[1])
	}
}
