package storage

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
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
// seconds, which Parquet has not got and which come back in milliseconds, and
// for dictionaries, whose indices come back with 32 bits at least, and inside of
// lists as their values. Durations, which it has not got either, and structs,
// which cannot be read back yet, are ErrUnsupported. The columns of row groups are
// encoded in parallel; the file does not depend on the number of processors. It
// replaces the file when all is written.
func WriteParquet(ctx context.Context, t *table.Table, path string, o ParquetOptions) error {
	return writeTable(ctx, t, path, nil, o.sink)
}

// WriteParquetTo writes a table as Parquet to w.
func WriteParquetTo(ctx context.Context, t *table.Table, w io.Writer, o ParquetOptions) error {
	return writeTable(ctx, t, "parquet", w, o.sink)
}

func (o ParquetOptions) sink(ctx context.Context, w io.Writer, path string, schema *arrow.Schema, a *arena) (sink, error) {
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
		if hasStruct(f.Type) {
			return nil, unsupported(path, f.Name, "columns of type %s in Parquet, which could not be read back: write Arrow IPC, or its fields as columns", f.Type)
		}
	}
	rows := o.RowGroupRows
	if rows <= 0 {
		rows = 1 << 18
	}
	s := &parquetSink{a: a, rows: rows, fields: make([]*arrow.Schema, schema.NumFields()), props: []parquet.WriterProperty{
		parquet.WithCompression(codec), parquet.WithMaxRowGroupLength(rows), parquet.WithAllocator(a), parquet.WithVersion(parquet.V2_LATEST),
	}}
	for i := range s.fields {
		s.fields[i] = arrow.NewSchema([]arrow.Field{schema.Field(i)}, nil)
	}
	var err error
	if s.file, err = newParquetAssembly(w, schema, s.props, a); err != nil {
		return nil, err
	}
	s.encoders = newEncoders(ctx, path, s.file.put)
	return s, nil
}

// parquetSink gathers the rows of a row group and has its columns encoded, each
// for itself.
type parquetSink struct {
	a        *arena
	rows     int64           // of a row group
	fields   []*arrow.Schema // each for itself
	props    []parquet.WriterProperty
	file     *parquetAssembly
	encoders *encoders[*parquetColumn]
	group    []arrow.RecordBatch // the rows of the next row group
	gathered int64
}

func (s *parquetSink) write(rec arrow.RecordBatch) error {
	for at := int64(0); at < rec.NumRows(); {
		n := min(s.rows-s.gathered, rec.NumRows()-at)
		s.group = append(s.group, rec.NewSlice(at, at+n))
		s.gathered += n
		at += n
		if s.gathered == s.rows {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush has the columns of the gathered rows encoded.
func (s *parquetSink) flush() error {
	group := s.group
	defer s.drop()
	for i := range s.fields {
		parts := make([]arrow.Array, len(group))
		for k, rec := range group {
			parts[k] = rec.Column(i)
			parts[k].Retain()
		}
		p := &parquetColumn{field: i, rows: s.gathered}
		err := s.encoders.add(func(ctx context.Context) (*parquetColumn, error) {
			return p, inFile(s.encoders.path, s.fields[i].Field(0).Name, p.encode(ctx, s, parts), nil)
		}, func() {
			for _, a := range parts {
				a.Release()
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// drop forgets the gathered rows.
func (s *parquetSink) drop() {
	for _, rec := range s.group {
		rec.Release()
	}
	s.group, s.gathered = nil, 0
}

func (s *parquetSink) close() error {
	if s.gathered > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if err := s.encoders.finish(); err != nil {
		return err
	}
	return s.file.close()
}

func (s *parquetSink) stop() {
	s.encoders.stop()
	s.drop()
}

// recordOfOne is an array as a record of one column.
func recordOfOne(schema *arrow.Schema, a arrow.Array) arrow.RecordBatch {
	return array.NewRecordBatch(schema, []arrow.Array{a}, int64(a.Len()))
}
