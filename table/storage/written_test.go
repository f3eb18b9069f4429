package storage_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// A file is the same bytes for any number of processors.
func TestFilesDoNotDependOnProcessors(t *testing.T) {
	b := backend(t)
	rng := rand.New(rand.NewPCG(3, 1))
	const rows = 70_000
	ints, floats, texts, bools := make([]int64, rows), make([]float64, rows), make([]string, rows), make([]bool, rows)
	times, valid := make([]time.Time, rows), make([]bool, rows)
	for i := range rows {
		ints[i], floats[i] = rng.Int64N(1<<40), rng.NormFloat64()
		texts[i] = fmt.Sprintf("k%d,\"%d\"", rng.IntN(50), i%7)
		bools[i], valid[i] = i%3 == 0, i%5 != 0
		times[i] = time.Unix(rng.Int64N(1<<32), 0)
	}
	floats[3] = math.NaN()
	tab, err := table.New(b, table.Column("i", ints), table.Column("f", floats).Valid(valid), table.Column("s", texts),
		table.Column("b", bools).Valid(valid), table.Column("t", times))
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Release()
	written := func(procs int, write func(*bytes.Buffer) error) []byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	writers := map[string]func(*bytes.Buffer) error{
		"parquet": func(w *bytes.Buffer) error {
			return storage.WriteParquetTo(t.Context(), tab, w, storage.ParquetOptions{RowGroupRows: 9000})
		},
		"parquet zstd": func(w *bytes.Buffer) error {
			return storage.WriteParquetTo(t.Context(), tab, w, storage.ParquetOptions{Compression: storage.CompressionZstd})
		},
		"csv": func(w *bytes.Buffer) error { return storage.WriteCSVTo(t.Context(), tab, w, storage.CSVWriteOptions{}) },
		"csv with null": func(w *bytes.Buffer) error {
			return storage.WriteCSVTo(t.Context(), tab, w, storage.CSVWriteOptions{Null: "-1", Delimiter: ';'})
		},
	}
	for name, write := range writers {
		want := written(1, write)
		for _, procs := range []int{2, 7} {
			if got := written(procs, write); !bytes.Equal(got, want) {
				t.Errorf("%s: other bytes on %d processors", name, procs)
			}
		}
	}
}
