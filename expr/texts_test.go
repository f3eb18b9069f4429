package expr

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// textRows are columns of one text each kind, with a null, as windows of longer ones: s, a
// dictionary d of the same, and bytes b.
func textRows(t *testing.T, k *kernels.Backend, values []string) (*arrow.Schema, []*memory.Column) {
	t.Helper()
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "l", Type: arrow.BinaryTypes.LargeString, Nullable: true},
		{Name: "d", Type: dict, Nullable: true}, {Name: "b", Type: arrow.BinaryTypes.Binary, Nullable: true},
	}, nil)
	var columns []*memory.Column
	for i, f := range schema.Fields() {
		typ := f.Type
		if i == 2 {
			typ = dict.ValueType
		}
		list := []kernels.Scalar{kernels.Text(typ, "before")}
		for _, v := range values {
			list = append(list, kernels.Text(typ, v))
		}
		c := columnOf(t, k, typ, append(list, kernels.Null(typ)))
		if i == 2 {
			var rows []kernels.Scalar
			for row := range values {
				rows = append(rows, kernels.Int(dict.IndexType, int64(row+1)))
			}
			rows = append([]kernels.Scalar{kernels.Null(dict.IndexType)}, append(rows, kernels.Null(dict.IndexType))...)
			index := columnOf(t, k, dict.IndexType, rows)
			var err error
			c, err = memory.NewColumn(memory.Parts{
				Type: dict, Len: index.Len(), Nulls: 2, Buffers: []*memory.Buffer{index.Buffer(0).Retain(), index.Buffer(1).Retain()},
				Place: index.Place(), Dictionary: c.Retain(),
			})
			require.NoError(t, err)
			t.Cleanup(c.Release)
		}
		c, err := c.Slice(1, int64(len(values)+1))
		require.NoError(t, err)
		t.Cleanup(c.Release)
		columns = append(columns, c)
	}
	return schema, columns
}

// Patterns of every shape, those that become comparisons and searches among them, in
// columns of every kind of text.
func TestLike(t *testing.T) {
	k, s := testBackend(t)
	values := []string{"", "a", "ab", "abc", "xaby", "a%b", "a_b", "é", "éa", "aé€b", "special requests", "requests special", strings.Repeat("ab", 4000)}
	schema, columns := textRows(t, k, values)
	for text, want := range map[string]string{
		"like ''":                   "1000000000000",
		"like 'ab'":                 "0010000000000",
		"like '%'":                  "1111111111111",
		"like 'a%'":                 "0111011001001",
		"like '%b'":                 "0010011001001",
		"like '%ab%'":               "0011100000001",
		"like 'a!%b' escape '!'":    "0000010000000",
		"like 'a\\_b' escape '\\'":  "0000001000000",
		"like 'a_b'":                "0000011000000",
		"like 'a%b'":                "0010011001001",
		"like '%special%requests%'": "0000000000100",
		"like '%b%b%a%b'":           "0000000000001",
	} {
		for _, column := range []string{"s", "l", "d", "b"} {
			for _, not := range []bool{false, true} {
				said := column + " " + text
				if not {
					said = column + " not " + text
				}
				got := evalText(t, k, s, said, schema, columns)
				for i, v := range values {
					require.True(t, got[i].Valid(), "%s of %q", said, v)
					require.Equal(t, (want[i] == '1') != not, got[i].Bool(), "%s of %.20q", said, v)
				}
				require.False(t, got[len(values)].Valid(), "%s of null", said)
			}
		}
	}
}

// Letters are code points in texts and bytes in columns of bytes.
func TestLettersOfTextsAndBytes(t *testing.T) {
	k, s := testBackend(t)
	values := []string{"é", "éa", "13-715", ""}
	schema, columns := textRows(t, k, values)
	for text, want := range map[string][]any{
		"s like '_'":                {true, false, false, false, nil},
		"b like '__'":               {true, false, false, false, nil},
		"substring(s, 1, 2)":        {"é", "éa", "13", "", nil},
		"substring(d, 2)":           {"", "a", "3-715", "", nil},
		"substring(b, 1, 2)":        {"é", "é", "13", "", nil},
		"substring(l from 2 for 1)": {"", "a", "3", "", nil},
		"substring('éab', 2, 1)":    {"a", "a", "a", "a", "a"},
		"substring(s, 1, 2) in ('13', 'é') and s not like '%7_'": {true, false, true, false, nil},
	} {
		got := evalText(t, k, s, text, schema, columns)
		for i, w := range want {
			switch w := w.(type) {
			case nil:
				require.False(t, got[i].Valid(), "%s, row %d", text, i)
			case bool:
				require.Equal(t, w, got[i].Bool(), "%s, row %d", text, i)
			case string:
				require.Equal(t, w, got[i].Text(), "%s, row %d", text, i)
			}
		}
	}
}

func TestTextsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"a like 'x'":                 `like of column "a" of type int64`,
		"s like s":                   "are text literals",
		"s like null":                "are text literals",
		"s like 'x!' escape '!'":     "ends with its escape",
		"s like 'x' escape '!!'":     "more than one letter",
		"s like 'x' escape ''":       "not an empty text",
		"substring(s, 0, 1)":         "counted from 1",
		"substring(s, 1, -1)":        "0 or more",
		"substring(s, a)":            "whole numbers",
		"substring(s, 1.5)":          "whole numbers",
		"substring(a, 1)":            "substring of int64",
		"substring(s, 1, 2) + 1 > 0": "utf8",
	} {
		e, err := Parse(text)
		require.NoError(t, err, text)
		_, err = e.Bind(rowSchema)
		require.ErrorContains(t, err, want, text)
	}
}
