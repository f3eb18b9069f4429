package storage

import (
	"context"
	"errors"
	"io"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// ReadOptions tell what to read of a file. The zero value means all of it.
type ReadOptions struct {
	// Columns are the names of the columns to read; nil means all. They come in
	// the file's order.
	Columns []string
	// Predicate, if not nil, lets row groups of a Parquet file be left out for
	// whose rows it cannot be true. Rows of the other row groups all come.
	Predicate *expr.Expr
	// BatchRows is how many rows a chunk of the table should have; 0 leaves it
	// to the format.
	BatchRows int64
}

// ReadParquet reads files and globs of Parquet into a table on the backend, in
// chunks of up to 64 Ki rows. The caller releases the table.
func ReadParquet(ctx context.Context, b *kernels.Backend, path string, o ReadOptions) (*table.Table, error) {
	return Read(ctx, b, Parquet(path), o)
}

// ReadIPC reads files and globs of Arrow IPC, file or stream, into a table on
// the backend, a chunk for each record batch. The caller releases the table.
func ReadIPC(ctx context.Context, b *kernels.Backend, path string, o ReadOptions) (*table.Table, error) {
	return Read(ctx, b, IPC(path), o)
}

// ReadCSV reads files and globs of CSV into a table on the backend, a chunk for
// each block of text. The caller releases the table.
func ReadCSV(ctx context.Context, b *kernels.Backend, path string, csv CSVOptions, o ReadOptions) (*table.Table, error) {
	return Read(ctx, b, CSV(csv, path), o)
}

// Read reads all rows of a source into a table on the backend. The caller
// releases the table.
func Read(ctx context.Context, b *kernels.Backend, s table.Source, o ReadOptions) (t *table.Table, err error) {
	schema, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	if schema, err = project(s.Name(), schema, o.Columns); err != nil {
		return nil, err
	}
	r, err := s.Scan(ctx, b, table.ScanOptions{Columns: o.Columns, Predicate: o.Predicate, BatchRows: o.BatchRows})
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := r.Close(); err == nil && e != nil {
			t.Release()
			t, err = nil, e
		}
	}()
	var chunks []*table.Batch
	for {
		c, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return table.NewTable(b, schema, chunks)
		}
		if err != nil {
			for _, c := range chunks {
				c.Release()
			}
			return nil, err
		}
		chunks = append(chunks, c)
	}
}
