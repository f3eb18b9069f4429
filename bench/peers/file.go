package peers

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/table/storage"
)

// files read a file that pyarrow has written with its defaults: an integer, a
// float, an integer of 1e5 values and a string of 1e5 values.
var files = []problem{
	readFile("parquet_snappy", "snappy", exact),
	readFile("parquet_zstd", "zstd", exact),
	// Not every reader takes decimals to the nearest float.
	readFile("csv", "csv", approx),
}

func readFile(name, kindOfFile string, float kind) problem {
	return problem{
		name: name, file: kindOfFile, columns: []kind{exact, float, exact, exact}, order: 3, places: true,
		inputs: func(n int64) map[string]arrow.RecordBatch {
			return map[string]arrow.RecordBatch{"t": record(
				column{"i", int64s(anywhere(0, n))}, column{"v", float64s(floats(1, n))},
				column{"k", int64s(draws(2, n, groups))}, column{"s", labels(draws(3, n, groups))})}
		},
		ours: func(o *onOurs) ([]ourWay, error) {
			return []ourWay{{"read", func(ctx context.Context) (outcome, error) {
				read := func() (t tableOutcome, err error) {
					if kindOfFile == "csv" {
						t.Table, err = storage.ReadCSV(ctx, o.backend, o.path, storage.CSVOptions{}, storage.ReadOptions{})
					} else {
						t.Table, err = storage.ReadParquet(ctx, o.backend, o.path, storage.ReadOptions{})
					}
					return t, err
				}
				t, err := read()
				if err != nil {
					return nil, err
				}
				return t, nil
			}}}, nil
		},
	}
}
