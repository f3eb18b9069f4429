package storage

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/volley-go/volley/table"
)

// ParquetOptions say how a Parquet file is written.
type ParquetOptions struct {
	// Compression of the pages: Snappy by default.
	Compression Compression
	// RowGroupRows is how many rows a row group has; 0 means 262,144. Readers
	// work on row groups in parallel and leave out whole ones.
	RowGroupRows int64
}

// WriteParquet writes a table to a Parquet file, with statistics and with the
// Arrow schema, so that the types come back as they were, but for times in
// seconds, which Parquet has not got and which come back in milliseconds.
// Durations, which it has not got either, are ErrUnsupported. It replaces the
// file when all is written.
func WriteParquet(ctx context.Context, t *table.Table, path string, o ParquetOptions) error {
	return writeTable(ctx, t, path, nil, o.sink)
}

// WriteParquetTo writes a table as Parquet to w.
func WriteParquetTo(ctx context.Context, t *table.Table, w io.Writer, o ParquetOptions) error {
	return writeTable(ctx, t, "parquet", w, o.sink)
}

func (o ParquetOptions) sink(w io.Writer, path string, schema *arrow.Schema, a *arena) (sink, error) {
	codec := compress.Codecs.Snappy
	switch o.Compression {
	case CompressionDefault, CompressionSnappy:
	case CompressionNone:
		codec = compress.Codecs.Uncompressed
	case CompressionZstd:
		codec = compress.Codecs.Zstd
	default:
		return nil, unsupported(path, "", "compression %s in Parquet", o.Compression)
	}
	for _, f := range schema.Fields() {
		if f.Type.ID() == arrow.DURATION {
			return nil, unsupported(path, f.Name, "columns of type %s in Parquet: cast it to int64", f.Type)
		}
	}
	rows := o.RowGroupRows
	if rows <= 0 {
		rows = 1 << 18
	}
	props := parquet.NewWriterProperties(parquet.WithCompression(codec), parquet.WithMaxRowGroupLength(rows), parquet.WithAllocator(a),
		parquet.WithVersion(parquet.V2_LATEST))
	f, err := pqarrow.NewFileWriter(schema, w, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema(), pqarrow.WithAllocator(a)))
	if err != nil {
		return nil, err
	}
	return &parquetSink{f, a}, nil
}

type parquetSink struct {
	f *pqarrow.FileWriter
	a *arena
}

func (s *parquetSink) write(rec arrow.RecordBatch) error {
	dense, err := denseRecord(rec, s.a)
	if err != nil {
		return err
	}
	defer dense.Release()
	return s.f.WriteBuffered(dense)
}

func (s *parquetSink) close() error { return s.f.Close() }
