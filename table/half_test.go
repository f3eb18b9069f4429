package table

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
	amemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
)

// halves is a table of n rows in two chunks: their numbers, and a float16 of each of which every seventh is null.
func halves(t *testing.T, n int) *Table {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "h", Type: arrow.FixedWidthTypes.Float16, Nullable: true}}, nil)
	var records []arrow.RecordBatch
	for from, to := 0, n/3; from < n; from, to = to, n {
		builder := array.NewRecordBuilder(amemory.DefaultAllocator, schema)
		for i := from; i < to; i++ {
			builder.Field(0).(*array.Int64Builder).Append(int64(i))
			if i%7 == 3 {
				builder.Field(1).AppendNull()
			} else {
				builder.Field(1).(*array.Float16Builder).Append(float16.FromBits(uint16(i)))
			}
		}
		records = append(records, builder.NewRecordBatch())
	}
	made, err := FromRecords(testBackend(t), schema, records...)
	require.NoError(t, err)
	return made
}

// heldHalves checks that every row has the float16 of its number, bit for bit, and gives the numbers.
func heldHalves(t *testing.T, of *Table) (numbers []int64) {
	t.Helper()
	records, err := of.ToRecords()
	require.NoError(t, err)
	for _, r := range records {
		n := r.Column(r.Schema().FieldIndices("n")[0]).(*array.Int64)
		h := r.Column(r.Schema().FieldIndices("h")[0]).(*array.Float16)
		for i := range n.Len() {
			numbers = append(numbers, n.Value(i))
			require.Equal(t, n.Value(i)%7 == 3, h.IsNull(i))
			if h.IsValid(i) {
				require.Equal(t, uint16(n.Value(i)), h.Value(i).Uint16())
			}
		}
		r.Release()
	}
	return numbers
}

// Columns of float16 are moved with their rows, few or many: NaNs of all bits, infinities, subnormal numbers and nulls.
func TestHalvesMove(t *testing.T) {
	for _, n := range []int{10, 70_000} {
		all := halves(t, n)
		q := all.Query()
		for name, c := range map[string]struct {
			q    *Query
			rows int
		}{
			"filter": {q.Filter("n % 3 = 1"), (n + 1) / 3}, "filter few": {q.Filter("n % 1000 = 1"), (n + 998) / 1000}, "sort": {q.Sort(Desc("n")), n},
			"join": {q.Join(q.Select("n").Filter("n % 2 = 0"), Inner, On("n")), (n + 1) / 2}, "join payload": {q.Select("n").Sort(Desc("n")).Join(q, Left, On("n")), n},
			"union": {q.Union(q), 2 * n}, "distinct": {q.Distinct("n"), n}, "top": {q.TopK(5, Desc("n")), 5}, "slice": {q.Slice(3, 5), 5},
		} {
			t.Run(name, func(t *testing.T) {
				got, err := c.q.Collect(t.Context())
				require.NoError(t, err)
				defer got.Release()
				require.Len(t, heldHalves(t, got), c.rows)
			})
		}
		parts, err := all.Partition(t.Context(), 3, "n")
		require.NoError(t, err)
		rows := 0
		for _, p := range parts {
			rows += len(heldHalves(t, p))
			p.Release()
		}
		require.Equal(t, n, rows)
		all.Release()
	}
}

// What computes with them or orders by them says that it does not, and of what type.
func TestHalvesAreNotComputedWith(t *testing.T) {
	all := halves(t, 100)
	defer all.Release()
	q := all.Query()
	for name, c := range map[string]*Query{
		"sort": q.Sort(Asc("h")), "group": q.GroupBy("h").Agg(Count()), "sum": q.Agg(Sum("h")), "add": q.Select(expr.Col("h").Add(expr.Lit(1))),
		"distinct": q.Distinct("h"),
	} {
		_, err := c.Collect(t.Context())
		require.ErrorIs(t, err, device.ErrUnsupported, name)
		require.ErrorContains(t, err, "float16", name)
	}
	_, err := q.Join(q, Inner, On("h")).Collect(t.Context())
	require.ErrorIs(t, err, device.ErrMismatch)
	require.ErrorContains(t, err, "float16")
}
