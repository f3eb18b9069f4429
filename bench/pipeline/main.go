package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "pipeline FOLDER")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve answers each line of in with a run's figures, until in ends.
func serve(folder string, in io.Reader, out io.Writer) (err error) {
	dev, err := volley.Open("cpu")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		started := time.Now()
		late, err := query(dev, folder).Collect(context.Background())
		took := time.Since(started)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, took.Nanoseconds(), late.NumRows(), sum(late))
		late.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// query reads, filters, joins, groups and sorts; bench.py has the same words.
func query(dev *kernels.Backend, folder string) *table.Query {
	airports := storage.ScanCSV(storage.CSVOptions{}, filepath.Join(folder, "airports.csv"))
	return storage.ScanParquet(filepath.Join(folder, "flights-1m.parquet")).On(dev).
		Filter("distance >= 500").
		Join(airports, table.Inner, table.Keys("origin", "iata")).
		GroupBy("state", "destination").
		Agg(table.Count(), table.Mean("delay"), table.Max("distance")).
		Sort(table.Desc("count"), table.Asc("state"), table.Asc("destination"))
}

// sum adds up the counts of the groups.
func sum(t *table.Table) (total int64) {
	for _, b := range t.Chunks() {
		for _, v := range memory.Values[int64](b.Column(2)) {
			total += v
		}
	}
	return total
}
