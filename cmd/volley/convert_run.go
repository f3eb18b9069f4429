package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/table/storage"
)

// runConvert copies a file batch by batch through the host's memory.
func runConvert(ctx context.Context, o convertOptions, p progress.Progress) (res convertResult, err error) {
	b, err := volley.Open("cpu")
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	csv := storage.CSVOptions{Lenient: o.Lenient, Report: new(storage.CSVReport)}
	if strings.EqualFold(filepath.Ext(o.In), ".tsv") {
		csv.Delimiter = '\t'
	}
	from, err := storage.OpenAs(o.In, storage.Format(o.From), csv)
	if err != nil {
		return res, err
	}
	p.Start("convert "+o.In, 0)
	defer p.Done()
	res.Rows, err = storage.Convert(ctx, b, from, o.Out, storage.Format(o.To))
	res.Skipped = csv.Report.Skipped()
	return res, err
}
