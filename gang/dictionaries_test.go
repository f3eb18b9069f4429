package gang

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/table"
)

// labels is a table with dictionaries, also in a struct, whose two chunks have different ones.
func labels(rows int) (*table.Table, error) {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "label", Type: dict, Nullable: true},
		{Name: "pair", Type: arrow.StructOf(arrow.Field{Name: "of", Type: dict, Nullable: true}), Nullable: true}}, nil)
	backend, err := hostBackend()
	if err != nil {
		return nil, err
	}
	var chunks []*table.Batch
	for chunk := range 2 {
		lines := make([]string, rows)
		for i := range lines {
			label := fmt.Sprintf(`"label %d"`, 10*chunk+i%7)
			if i%5 == 0 {
				label = "null"
			}
			lines[i] = fmt.Sprintf(`{"n": %d, "label": %s, "pair": {"of": %s}}`, i, label, label)
		}
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+strings.Join(lines, ",")+"]"))
		if err != nil {
			return nil, err
		}
		b, err := table.BatchOf(rec)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, b)
	}
	return table.NewTable(backend, schema, chunks)
}

// lines are the rows of a table in words.
func lines(t *testing.T, of *table.Table) (all []string) {
	records, err := of.ToRecords()
	require.NoError(t, err)
	for _, r := range records {
		for row := range int(r.NumRows()) {
			line := ""
			for _, c := range r.Columns() {
				line += c.ValueStr(row) + " "
			}
			all = append(all, line)
		}
		r.Release()
	}
	return all
}

// Tables with dictionaries are mapped where they are as those without: no file stays, and the values are right also when its holder has forgotten them.
func TestDictionaries(t *testing.T) {
	each(t, 2, func(t *testing.T, g *Gang) {
		for _, rows := range []int{3, 5000} {
			want, err := labels(rows)
			require.NoError(t, err)
			for _, got := range results(t, g, "labels", int64(rows)) {
				require.Equal(t, lines(t, want), lines(t, got.(*table.Table)))
				got.(*table.Table).Release()
			}
			refs, err := g.Run(bounded(t), "labels", int64(rows))
			require.NoError(t, err)
			all, err := Union(refs...)
			require.NoError(t, err)
			var parts []string
			for _, p := range results(t, g, "redistribute", all) {
				parts = append(parts, lines(t, p.(*table.Table))...)
				p.(*table.Table).Release()
			}
			require.Equal(t, append(lines(t, want), lines(t, want)...), parts)
			files, err := os.ReadDir(g.files.path)
			require.NoError(t, err)
			require.Len(t, files, 1, fmt.Sprint(files)) // the lock
			want.Release()
		}
	})
}
