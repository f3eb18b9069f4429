package tpch

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// small is the folder of the small tables, with answers.
const small = "../../testdata/tpch"

// testBackend is the backend of the test run with its memory counted: the test fails
// on a leak.
func testBackend(t *testing.T) *kernels.Backend {
	t.Helper()
	var counted *memory.Counted
	b := backends.Open(t, func(a memory.Allocator) memory.Allocator {
		counted = memory.NewTraced(a)
		return counted
	})
	t.Cleanup(func() {
		require.NoError(t, b.Close())
		require.NoError(t, counted.Check())
	})
	return b
}

// The answers of all queries are DuckDB's, from memory and from files.
func TestAnswers(t *testing.T) {
	b := testBackend(t)
	ctx := context.Background()
	loaded, release, err := Load(ctx, b, small)
	require.NoError(t, err)
	defer release()
	for _, q := range Queries {
		want, err := ReadAnswer(filepath.Join(small, "answers", q.Name+".csv"))
		require.NoError(t, err)
		require.NotEmpty(t, want.Rows)
		for from, d := range map[string]Data{"memory": loaded, "files": Scan(b, small)} {
			got, err := q.Plan(d).Collect(ctx)
			require.NoError(t, err, "%s from %s", q.Name, from)
			answer, err := AnswerOf(got)
			got.Release()
			require.NoError(t, err)
			require.Empty(t, answer.Differs(want), "%s from %s", q.Name, from)
		}
	}
}

// An answer outlives the memory of the table that it was read from.
func TestAnswersOutliveTables(t *testing.T) {
	b := testBackend(t)
	texts := array.NewStringBuilder(arrowmemory.DefaultAllocator)
	texts.AppendValues([]string{"before", "the end"}, nil)
	plain := texts.NewStringArray()
	kind := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	indices := array.NewInt8Builder(arrowmemory.DefaultAllocator)
	indices.AppendValues([]int8{1, 0}, nil)
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: plain.DataType()}, {Name: "d", Type: kind}}, nil)
	record := array.NewRecordBatch(schema, []arrow.Array{plain, array.NewDictionaryArray(kind, indices.NewArray(), plain)}, 2)
	x, err := table.FromRecord(b, record)
	require.NoError(t, err)
	answer, err := AnswerOf(x)
	require.NoError(t, err)
	x.Release()
	copy(plain.Data().Buffers()[2].Bytes(), "xxxxxxxxxxxxx") // who has the memory next
	require.Equal(t, [][]string{{"before", "the end"}, {"the end", "before"}}, answer.Rows)
}

// A wrong answer is seen whatever is wrong with it.
func TestWrongAnswersDiffer(t *testing.T) {
	b := testBackend(t)
	want, err := ReadAnswer(filepath.Join(small, "answers", "q1.csv"))
	require.NoError(t, err)
	table, err := q1(Scan(b, small)).Collect(context.Background())
	require.NoError(t, err)
	defer table.Release()
	answer := func() *Answer {
		a, err := AnswerOf(table)
		require.NoError(t, err)
		return a
	}
	require.Empty(t, answer().Differs(want))
	a := answer()
	a.Rows[2][6] = "25.6"
	require.Contains(t, a.Differs(want), "row 2, column avg_qty")
	a = answer()
	a.Rows[0][9] = "3537"
	require.Contains(t, a.Differs(want), "row 0, column count_order")
	a = answer()
	a.Rows = a.Rows[1:]
	require.Contains(t, a.Differs(want), "3 rows, not 4")
	a = answer()
	a.Rows[0], a.Rows[1] = a.Rows[1], a.Rows[0]
	require.NotEmpty(t, a.Differs(want))
	a = answer()
	a.Columns[0] = "flag"
	require.Contains(t, a.Differs(want), "columns [flag")
	null := filepath.Join(t.TempDir(), "null.csv")
	require.NoError(t, os.WriteFile(null, []byte("avg_yearly\n\n"), 0o666))
	one, err := ReadAnswer(null)
	require.NoError(t, err)
	require.Equal(t, [][]string{{""}}, one.Rows)
	require.NoError(t, os.WriteFile(null, nil, 0o666))
	_, err = ReadAnswer(null)
	require.ErrorContains(t, err, "header")
	_, err = ReadAnswer("no such file")
	require.Error(t, err)
}
