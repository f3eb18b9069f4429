package tpch

import (
	"context"
	"path/filepath"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// Data is the eight tables, in memory or in files.
type Data struct {
	Customer, Lineitem, Nation, Orders, Part, Partsupp, Region, Supplier *table.Query
}

// tables are the names of the tables, which their files have, and their places in d.
func (d *Data) tables() map[string]**table.Query {
	return map[string]**table.Query{
		"customer": &d.Customer, "lineitem": &d.Lineitem, "nation": &d.Nation, "orders": &d.Orders,
		"part": &d.Part, "partsupp": &d.Partsupp, "region": &d.Region, "supplier": &d.Supplier,
	}
}

// Scan is the tables in Parquet files of a folder, which each query reads anew on a
// backend.
func Scan(b *kernels.Backend, folder string) (d Data) {
	for name, q := range d.tables() {
		*q = storage.ScanParquet(filepath.Join(folder, name+".parquet")).On(b)
	}
	return d
}

// Load reads the tables of a folder into memory. release gives them back.
func Load(ctx context.Context, b *kernels.Backend, folder string) (d Data, release func(), err error) {
	files := Scan(b, folder)
	var held []*table.Table
	release = func() {
		for _, t := range held {
			t.Release()
		}
	}
	from := files.tables()
	for name, q := range d.tables() {
		t, err := (*from[name]).Collect(ctx)
		if err != nil {
			release()
			return Data{}, nil, err
		}
		held = append(held, t)
		*q = t.Query()
	}
	return d, release, nil
}

// Query is one of the queries.
type Query struct {
	Name string
	// Plan is the query over the tables, with the parameters of the validation run.
	Plan func(d Data) *table.Query
}

// Queries are the 22 queries.
var Queries = []Query{
	{Name: "q1", Plan: q1}, {Name: "q2", Plan: q2}, {Name: "q3", Plan: q3}, {Name: "q4", Plan: q4}, {Name: "q5", Plan: q5}, {Name: "q6", Plan: q6},
	{Name: "q7", Plan: q7}, {Name: "q8", Plan: q8}, {Name: "q9", Plan: q9}, {Name: "q10", Plan: q10}, {Name: "q11", Plan: q11}, {Name: "q12", Plan: q12},
	{Name: "q13", Plan: q13}, {Name: "q14", Plan: q14}, {Name: "q15", Plan: q15}, {Name: "q16", Plan: q16}, {Name: "q17", Plan: q17}, {Name: "q18", Plan: q18},
	{Name: "q19", Plan: q19}, {Name: "q20", Plan: q20}, {Name: "q21", Plan: q21}, {Name: "q22", Plan: q22},
}
