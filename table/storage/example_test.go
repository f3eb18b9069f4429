package storage_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// A CSV file becomes a Parquet file, batch by batch; a query then reads two of
// its three columns.
func ExampleConvert() {
	ctx := context.Background()
	dev, err := cpu.New(host.New())
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	folder, err := os.MkdirTemp("", "volley")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	text, columns := filepath.Join(folder, "flights.csv"), filepath.Join(folder, "flights.parquet")
	if err := os.WriteFile(text, []byte("origin,date,delay\nJFK,2001-01-01,14\nSFO,2001-01-01,\nJFK,2001-01-02,45\n"), 0o666); err != nil {
		log.Fatal(err)
	}
	rows, err := storage.Convert(ctx, dev, storage.CSV(storage.CSVOptions{}, text), columns, storage.FormatParquet)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows, "rows")
	delays, err := storage.ScanParquet(columns).On(dev).
		GroupBy("origin").Agg(table.Mean("delay")).
		Collect(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer delays.Release()
	fmt.Print(delays)
	// Output:
	// 3 rows
	// origin  mean_delay
	// utf8       float64
	// JFK           29.5
	// SFO           null
	// 2 rows × 2 columns
}
