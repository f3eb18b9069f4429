package gang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// variedTable is a part of a table of k and s as engines hand them out.
func variedTable(kind string) (*table.Table, error) {
	dictionary := func(index arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: index, ValueType: arrow.BinaryTypes.String}
	}
	types, rows := map[string][]arrow.DataType{
		"values":       {arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String},
		"nulls":        {arrow.PrimitiveTypes.Int64, arrow.Null},
		"empty":        {arrow.Null, arrow.Null},
		"empty floats": {arrow.PrimitiveTypes.Float64, arrow.Null},
		"bare":         {},
		"few":          {arrow.PrimitiveTypes.Int64, dictionary(arrow.PrimitiveTypes.Int8)},
		"many":         {arrow.PrimitiveTypes.Int64, dictionary(arrow.PrimitiveTypes.Int32)},
		"texts":        {arrow.BinaryTypes.String, arrow.BinaryTypes.String},
	}, map[string]string{
		"values": `[{"k": 1, "s": "a"}, {"k": 2, "s": "b"}]`,
		"nulls":  `[{"k": 3, "s": null}, {"k": 4, "s": null}, {"k": 5, "s": null}]`,
		"few":    `[{"k": 6, "s": "c"}]`,
		"many":   `[{"k": 7, "s": "d"}, {"k": 8, "s": "c"}]`,
		"texts":  `[{"k": "x", "s": "a"}]`,
	}
	var fields []arrow.Field
	for i, t := range types[kind] {
		fields = append(fields, arrow.Field{Name: []string{"k", "s"}[i], Type: t, Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	backend, err := hostBackend()
	if err != nil || rows[kind] == "" {
		made, _ := table.NewTable(backend, schema, nil)
		return made, err
	}
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows[kind]))
	if err != nil {
		return nil, err
	}
	return table.FromRecord(backend, rec)
}

// Parts without rows and columns of type null take the others' types, wherever they come in the order, and indices of dictionaries become as wide as the widest:
// in the whole, and in every worker's part of it.
func TestTypesOfParts(t *testing.T) {
	wide := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	each(t, 3, func(t *testing.T, g *Gang) {
		for _, c := range []struct {
			kinds string
			k, s  arrow.DataType
			same  bool // in all parts
		}{
			{"values,nulls,empty", arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, true},
			{"nulls,empty,values", arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, true},
			{"empty,bare,values", arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, true},
			{"empty floats,nulls,bare", arrow.PrimitiveTypes.Int64, arrow.Null, true},
			{"bare,empty,empty floats", arrow.PrimitiveTypes.Float64, arrow.Null, true},
			{"few,nulls,many", arrow.PrimitiveTypes.Int64, wide, false}, // a worker knows the widths of what it has
			{"many,bare,few", arrow.PrimitiveTypes.Int64, wide, false},
		} {
			var want []string
			var kinds []any
			for kind := range strings.SplitSeq(c.kinds, ",") {
				part, err := variedTable(kind)
				require.NoError(t, err)
				want = append(want, lines(t, part)...)
				kinds = append(kinds, kind)
				part.Release()
			}
			refs, err := g.Run(bounded(t), "varied", kinds...)
			require.NoError(t, err, c.kinds)
			all, err := Union(refs...)
			require.NoError(t, err)
			whole, err := g.Table(bounded(t), all)
			require.NoError(t, err, c.kinds)
			require.Equal(t, want, lines(t, whole), c.kinds)
			require.Equal(t, fmt.Sprint(c.k, c.s), fmt.Sprint(whole.Schema().Field(0).Type, whole.Schema().Field(1).Type), c.kinds)
			whole.Release()
			var got []string
			for rank, v := range results(t, g, "redistribute", all) {
				part := v.(*table.Table)
				got = append(got, lines(t, part)...)
				k, s := part.Schema().Field(0).Type, part.Schema().Field(1).Type
				require.True(t, arrow.TypeEqual(c.k, k) && (!c.same && s.ID() == arrow.DICTIONARY || arrow.TypeEqual(c.s, s)), "%s: rank %d has %v and %v", c.kinds, rank, k, s)
				part.Release()
			}
			require.Equal(t, want, got, c.kinds)
		}
		refs, err := g.Run(bounded(t), "varied", "values", "nulls", "texts")
		require.NoError(t, err)
		all, err := Union(refs...)
		require.NoError(t, err)
		_, err = g.Table(bounded(t), all)
		require.ErrorIs(t, err, device.ErrMismatch)
		require.ErrorContains(t, err, `part 2, of rank 2: column "k" is of type`)
	})
}
