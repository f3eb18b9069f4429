package storage_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/table/storage"
)

// Ranges are those of the row groups of all files: rows, nulls and bounds of each column.
func TestRangesOfParquet(t *testing.T) {
	files, err := filepath.Glob("../../testdata/tpch/*.parquet")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	parts, err := storage.Parquet("../../testdata/tpch/orders.parquet", "../../testdata/tpch/orders.parquet").Ranges(t.Context())
	require.NoError(t, err)
	require.Zero(t, len(parts)%2)
	var rows int64
	for _, p := range parts {
		r := p["o_orderkey"]
		rows += r.Rows
		require.Zero(t, r.Nulls)
		require.Positive(t, r.Min.Int64())
		require.LessOrEqual(t, r.Min.Int64(), r.Max.Int64())
	}
	skipped, total, err := storage.Parquet("../../testdata/tpch/orders.parquet").Skipped(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, skipped)
	require.Len(t, parts, 2*total)
	require.Positive(t, rows)
	many := make([]string, 65)
	for i := range many {
		many[i] = "../../testdata/tpch/nation.parquet"
	}
	parts, err = storage.Parquet(many...).Ranges(t.Context())
	require.NoError(t, err)
	require.Empty(t, parts)
	_, err = storage.Parquet("there/is/none.parquet").Ranges(t.Context())
	require.Error(t, err)
}
