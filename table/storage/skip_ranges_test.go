package storage_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/table"
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

// Files say of their row groups what is not so: a least value above the greatest, or bounds that were cut and
// that no row has. Rows are found by neither, and the least and the greatest value are those of rows.
func TestStatisticsThatLie(t *testing.T) {
	b := backend(t)
	const low, middle, high = int64(0x1122334455667701), int64(0x1722334455667702), int64(0x5522334455667703)
	made, err := table.New(b, table.Column("k", []int64{middle, high, low}),
		table.Column("f", []float64{0x1.23456p3, 0x1.65432p9, -0x1.45678p5}), table.Column("s", []string{"middle of all", "zz the last one", "aa the first one"}))
	require.NoError(t, err)
	defer made.Release()
	folder := t.TempDir()
	honest := filepath.Join(folder, "honest.parquet")
	require.NoError(t, storage.WriteParquet(t.Context(), made, honest, storage.ParquetOptions{}))
	content, err := os.ReadFile(honest)
	require.NoError(t, err)
	number := func(v uint64) string { return string(binary.LittleEndian.AppendUint64(nil, v)) }
	f := func(v float64) string { return number(math.Float64bits(v)) }
	least := []string{number(uint64(low)), f(-0x1.45678p5), "aa the first one"}
	most := []string{number(uint64(high)), f(0x1.65432p9), "zz the last one"}
	for name, says := range map[string][2][]string{
		"the wrong way round":    {{most[0], most[1], "zz the first one"}, {least[0], least[1], "aa the last one"}},
		"bounds that no row has": {{number(uint64(low - 256)), f(-0x1.fp7), "aa the firs\x00\x00\x00\x00\x00"}, {number(uint64(high + 256)), f(0x1.fp12), "zz the last ooo"}},
	} {
		footer := len(content) - 8 - int(binary.LittleEndian.Uint32(content[len(content)-8:]))
		var replace []string
		for i := range least {
			require.Contains(t, string(content[footer:]), least[i])
			require.Contains(t, string(content[footer:]), most[i])
			replace = append(replace, least[i], says[0][i], most[i], says[1][i])
		}
		lies := filepath.Join(folder, "lies.parquet")
		require.NoError(t, os.WriteFile(lies, []byte(string(content[:footer])+strings.NewReplacer(replace...).Replace(string(content[footer:]))), 0o600))
		for _, where := range []string{
			"true", fmt.Sprintf("k = %d", low), fmt.Sprintf("k >= %d", high), fmt.Sprintf("k in (%d, 5)", middle), "s = 'middle of all'", "s >= 'zz the last one'",
			"s < 'aa the first onf'", "f < -40", "f > 700", "f > 8 and f < 10", "s like 'aa%'", "k is null",
		} {
			rows := func(path string) []string {
				return shown(t, storage.ScanParquet(path).On(b).Filter(where).Agg(table.Count(), table.Min("k"), table.Max("k"), table.Min("f"), table.Max("f"), table.Min("s"), table.Max("s")))
			}
			require.Equal(t, rows(honest), rows(lies), "%s, %s", name, where)
		}
		keys, err := table.New(b, table.Column("key", []int64{low, middle, high, 3}))
		require.NoError(t, err)
		joined := shown(t, storage.ScanParquet(lies).On(b).Join(keys, table.Inner, table.Keys("k", "key")).Select("s"))
		keys.Release()
		require.Len(t, joined, 3, name)
	}
}

// shown are the rows of a query as texts.
func shown(t *testing.T, q *table.Query) []string {
	t.Helper()
	out, err := q.Collect(t.Context())
	require.NoError(t, err)
	defer out.Release()
	var text bytes.Buffer
	require.NoError(t, storage.WriteCSVTo(t.Context(), out, &text, storage.CSVWriteOptions{}))
	return strings.Split(strings.TrimSpace(text.String()), "\n")[1:]
}
