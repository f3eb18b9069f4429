package table_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	amem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/table"
)

// chunked is a table of rows numbered from first on, in chunks of these lengths: numbers, texts and lists with nulls among them.
func chunked(t *testing.T, b *kernels.Backend, first int, lengths ...int) *table.Table {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true}}, nil)
	var records []arrow.RecordBatch
	for _, n := range lengths {
		builder := array.NewRecordBuilder(amem.DefaultAllocator, schema)
		lists := builder.Field(2).(*array.ListBuilder)
		for range n {
			builder.Field(0).(*array.Int64Builder).Append(int64(first))
			if first%3 == 0 {
				builder.Field(1).AppendNull()
			} else {
				builder.Field(1).(*array.StringBuilder).Append(fmt.Sprint("row ", first))
			}
			lists.Append(true)
			for i := range first % 3 {
				lists.ValueBuilder().(*array.Int32Builder).Append(int32(i))
			}
			first++
		}
		records = append(records, builder.NewRecordBatch())
	}
	made, err := table.FromRecords(b, schema, records...)
	require.NoError(t, err)
	return made
}

// texts are the rows of a table, as they are printed.
func texts(t *testing.T, of *table.Table) (rows []string) {
	t.Helper()
	records, err := of.ToRecords()
	require.NoError(t, err)
	for _, r := range records {
		for i := range int(r.NumRows()) {
			row := ""
			for _, c := range r.Columns() {
				row += c.ValueStr(i) + "|"
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// within is the number of 0 to n that is next to x.
func within(x *big.Int, n int64) int64 {
	switch {
	case x.Sign() < 0:
		return 0
	case x.Cmp(big.NewInt(n)) > 0:
		return n
	}
	return x.Int64()
}

// Slices of any place and length, over chunks, are those of the list of the rows.
func TestSlice(t *testing.T) {
	backend, err := cpu.New(host.New())
	require.NoError(t, err)
	defer backend.Close()
	for _, lengths := range [][]int{{}, {1}, {9}, {3, 1, 5}, {2, 0, 7}} {
		whole := chunked(t, backend, 0, lengths...)
		all := texts(t, whole)
		n := int64(len(all))
		for _, offset := range []int64{math.MinInt64, -n - 3, -n, -2, -1, 0, 1, 3, 4, n - 1, n, n + 2, math.MaxInt64} {
			for _, rows := range []int64{0, 1, 2, 4, n, n + 5, math.MaxInt64} {
				first := big.NewInt(offset)
				if offset < 0 {
					first.Add(first, big.NewInt(n))
				}
				end := new(big.Int).Add(first, big.NewInt(rows))
				from, to := within(first, n), within(end, n)
				part, err := whole.Slice(offset, rows)
				require.NoError(t, err)
				require.Equal(t, append([]string(nil), all[from:to]...), texts(t, part), "%v: %d rows from %d", lengths, rows, offset)
				part.Release()
			}
		}
		_, err := whole.Slice(0, -1)
		require.ErrorIs(t, err, device.ErrMismatch)
		whole.Release()
	}
}

// Tables of the same columns are put together without a copy; columns in another order are found by their names, other ones refused.
func TestConcat(t *testing.T) {
	ctx := context.Background()
	backend, err := cpu.New(host.New())
	require.NoError(t, err)
	defer backend.Close()
	a, b, none := chunked(t, backend, 0, 3, 1), chunked(t, backend, 4, 5), chunked(t, backend, 0)
	both, err := table.Concat(ctx, a, none, b, a)
	require.NoError(t, err)
	require.Equal(t, append(append(texts(t, a), texts(t, b)...), texts(t, a)...), texts(t, both))
	require.Same(t, a.Chunks()[0], both.Chunks()[0])
	both.Release()

	turned, err := b.Query().Select("l", "n", "s").Collect(ctx)
	require.NoError(t, err)
	both, err = table.Concat(ctx, a, turned)
	require.NoError(t, err)
	require.Equal(t, append(texts(t, a), texts(t, b)...), texts(t, both))
	both.Release()

	fewer, err := b.Query().Select("n", "s").Collect(ctx)
	require.NoError(t, err)
	other, err := b.Query().Select("l", expr.Col("s").As("n"), expr.Col("n").As("s")).Collect(ctx)
	require.NoError(t, err)
	for _, wrong := range [][]*table.Table{{}, {a, fewer}, {fewer, a}, {a, other}} {
		_, err = table.Concat(ctx, wrong...)
		require.Error(t, err)
	}
	for _, one := range []*table.Table{a, b, none, turned, fewer, other} {
		one.Release()
	}
}
