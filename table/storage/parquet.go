package storage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// ParquetSource is the rows of one or more Parquet files of the same columns,
// in the order of the files. It is a table.Source: nothing is read before it
// is scanned, and then only the columns asked for, and not those row groups
// whose statistics say that no row of theirs passes the predicate. Struct
// columns, also inside of lists, are ErrUnsupported where they are asked for.
type ParquetSource struct {
	paths []string
	err   error
}

// Parquet is the source of files and globs. What is wrong with them is
// returned by the first use.
func Parquet(paths ...string) *ParquetSource {
	s := &ParquetSource{}
	s.paths, s.err = expand(paths)
	return s
}

// Name is the file's path, or the first one and how many more there are.
func (s *ParquetSource) Name() string { return nameOf(s.paths) }

// Schema is the columns of the first file.
func (s *ParquetSource) Schema(ctx context.Context) (*arrow.Schema, error) {
	if s.err != nil {
		return nil, s.err
	}
	if err := canceled(ctx, s.paths[0]); err != nil {
		return nil, err
	}
	f, err := openParquet(s.paths[0])
	if err != nil {
		return nil, err
	}
	defer f.close()
	return f.schema, nil
}

// Skipped says how many row groups of the files the predicate leaves unread,
// and how many there are. A nil predicate skips none.
func (s *ParquetSource) Skipped(ctx context.Context, predicate *expr.Expr) (skipped, total int, err error) {
	if s.err != nil {
		return 0, 0, s.err
	}
	for _, path := range s.paths {
		if err := canceled(ctx, path); err != nil {
			return 0, 0, err
		}
		f, err := openParquet(path)
		if err != nil {
			return 0, 0, err
		}
		may, err := pruner(path, f.schema, predicate)
		for g := 0; err == nil && g < f.meta.NumRowGroups(); g++ {
			total++
			if !may(f, g) {
				skipped++
			}
		}
		f.close()
		if err != nil {
			return 0, 0, err
		}
	}
	return skipped, total, nil
}

// Scan begins to read. The reader's batches have about 64 Ki rows, fewer
// where rows are wide, and never rows of two row groups.
func (s *ParquetSource) Scan(ctx context.Context, b *kernels.Backend, o table.ScanOptions) (table.BatchReader, error) {
	first, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	want, err := project(s.Name(), first, o.Columns)
	if err != nil {
		return nil, err
	}
	scan := &parquetScan{backend: b, paths: s.paths, options: o, first: first, want: want}
	return finishScan(b, newOrdered(ctx, s.Name(), scan.next, scan.close))
}

// parquetScan gives one job for each row group that is not left out.
type parquetScan struct {
	backend *kernels.Backend
	paths   []string // yet to open
	options table.ScanOptions
	first   *arrow.Schema // of the first file
	want    *arrow.Schema // of the batches

	file   *parquetFile
	may    func(*parquetFile, int) bool
	fields []int // of want, in the file
	group  int
	opened []*parquetFile
}

func (s *parquetScan) next(ctx context.Context) (job, error) {
	for {
		if s.file == nil || s.group == s.file.meta.NumRowGroups() {
			if len(s.paths) == 0 {
				return nil, io.EOF
			}
			if err := s.open(s.paths[0]); err != nil {
				return nil, err
			}
			s.paths = s.paths[1:]
			continue
		}
		f, g, fields := s.file, s.group, s.fields
		s.group++
		if f.meta.RowGroup(g).NumRows() > 0 && s.may(f, g) {
			return func(ctx context.Context, emit func(*table.Batch) error) error {
				return s.read(ctx, f, g, fields, nil, emit)
			}, nil
		}
		if err := canceled(ctx, f.path); err != nil {
			return nil, err
		}
	}
}

func (s *parquetScan) open(path string) (err error) {
	f, err := openParquet(path)
	if err != nil {
		return err
	}
	s.opened = append(s.opened, f)
	s.file, s.group, s.fields = f, 0, nil
	if err := sameColumns(path, s.first, f.schema); err != nil {
		return err
	}
	for _, want := range s.want.Fields() {
		s.fields = append(s.fields, f.schema.FieldIndices(want.Name)[0])
	}
	s.may, err = pruner(path, f.schema, s.options.Predicate)
	return err
}

func (s *parquetScan) close() {
	for _, f := range s.opened {
		f.close()
	}
}

// read makes the batches of one row group, of which some is there.
func (s *parquetScan) read(ctx context.Context, f *parquetFile, g int, fields []int, there *fetched, emit func(*table.Batch) error) error {
	rows := f.meta.RowGroup(g).NumRows()
	size := batchRows(s.options.BatchRows, len(fields))
	if len(fields) == 0 {
		return emitCounts(s.want, rows, size, emit)
	}
	for _, i := range fields {
		field := f.schema.Field(i)
		if err := supported(f.path, field); err != nil {
			return err
		}
		if hasStruct(field.Type) {
			return unsupported(f.path, field.Name, "columns of type %s in Parquet; choose columns without it", field.Type)
		}
	}
	r := groupReader{file: f, g: g, from: hostMemory(s.backend), want: s.want, fields: fields, there: there, emit: emit, most: largestBlock(f.size)}
	err := r.read(ctx, size)
	for size > 1 && errors.Is(err, errLongTexts) { // again, and without the rows that were emitted
		size = max(1, size/16)
		err = r.read(ctx, size)
	}
	if errors.Is(err, errLongTexts) {
		return &Error{Path: f.path, Part: rowGroup(g), Kind: device.ErrOutOfMemory, Cause: err}
	}
	return err
}

// hasStruct reports whether there are structs in a type. arrow-go reads their
// fields in goroutines of its own, whose panics over damaged pages would end
// the process.
func hasStruct(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.StructType:
		return true
	case arrow.ListLikeType:
		return hasStruct(t.Elem())
	}
	return false
}

func rowGroup(g int) string { return fmt.Sprintf("row group %d", g) }
