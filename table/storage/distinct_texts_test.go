package storage_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/table/storage"
)

// How many texts a column has is guessed from the sizes of dictionaries and indices, within a factor of three: of few and
// many, in order and not, packed and not. Without a dictionary nothing is said.
func TestRangesGuessDistinctTexts(t *testing.T) {
	const rows = 20_000
	rng := rand.New(rand.NewPCG(3, 4))
	counts := []int{1, 2, 3, 7, 25, 150, 1000, 5000, rows}
	var fields []arrow.Field
	var columns []arrow.Array
	for _, n := range counts {
		mixed, sorted := array.NewStringBuilder(arrowmem.DefaultAllocator), array.NewStringBuilder(arrowmem.DefaultAllocator)
		for i := range rows {
			at := rng.IntN(n)
			if n == rows {
				at = i
			}
			mixed.Append(fmt.Sprintf("%06d text", at*7919%1_000_003))
			sorted.Append(fmt.Sprintf("text %06d", i*n/rows))
		}
		for name, b := range map[string]*array.StringBuilder{"mixed": mixed, "sorted": sorted} {
			fields = append(fields, arrow.Field{Name: fmt.Sprint(name, n), Type: arrow.BinaryTypes.String, Nullable: true})
			columns = append(columns, b.NewArray())
		}
	}
	record := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rows)
	defer record.Release()
	ranges := func(o ...parquet.WriterProperty) []float64 {
		for _, f := range fields { // the writer keeps dictionaries whatever it saves by them
			o = append(o, parquet.WithDictionaryCostFallbackFor(f.Name, false))
		}
		var file bytes.Buffer
		w, err := pqarrow.NewFileWriter(record.Schema(), &file, parquet.NewWriterProperties(o...), pqarrow.DefaultWriterProps())
		require.NoError(t, err)
		require.NoError(t, w.Write(record))
		require.NoError(t, w.Close())
		path := filepath.Join(t.TempDir(), "texts.parquet")
		require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
		parts, err := storage.Parquet(path).Ranges(t.Context())
		require.NoError(t, err)
		var all []float64
		for _, f := range fields {
			all = append(all, float64(parts[0][f.Name].Distinct))
		}
		return all
	}
	for name, codec := range map[string]compress.Compression{"plain": compress.Codecs.Uncompressed, "snappy": compress.Codecs.Snappy, "zstd": compress.Codecs.Zstd} {
		for i, got := range ranges(parquet.WithCompression(codec)) {
			var want int
			var kind string
			_, err := fmt.Sscanf(fields[i].Name, "mixed%d", &want)
			if kind = "mixed"; err != nil {
				kind = "sorted"
				_, err = fmt.Sscanf(fields[i].Name, "sorted%d", &want)
				require.NoError(t, err)
			}
			least := float64(want) / 3
			if kind == "sorted" && codec != compress.Codecs.Uncompressed { // a dictionary of texts in order packs well
				least = float64(want) / 40
			}
			require.GreaterOrEqual(t, got, least, "%s %s", name, fields[i].Name)
			require.LessOrEqual(t, got, 3*float64(want), "%s %s", name, fields[i].Name)
		}
	}
	for _, got := range ranges(parquet.WithDictionaryDefault(false)) {
		require.Zero(t, got)
	}
}
