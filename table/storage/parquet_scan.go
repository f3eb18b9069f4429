package storage

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// Filters reports whether a scan on the host gives only the rows for which the predicate is
// true: it does, unless folders say a column of it.
func (s *ParquetSource) Filters(predicate *expr.Expr) bool {
	return s.err == nil && predicate != nil && !s.hive.names(expr.Columns(predicate))
}

// Splits begins a scan by row group, or parts of row groups where there are few.
func (s *ParquetSource) Splits(ctx context.Context, b *kernels.Backend, o table.ScanOptions) (flow.Splits, error) {
	first, err := s.inFiles(ctx)
	if err != nil {
		return nil, err
	}
	if s.hive != nil {
		return s.hive.scan(b, o, s.Name(), first, func(paths []string) flow.SplitSource { return s.bare(paths) })
	}
	want, err := project(s.Name(), first, o.Columns)
	if err != nil {
		return nil, err
	}
	scan := &parquetScan{backend: b, paths: s.paths, parquet: s.options, options: o, first: first, want: want}
	predicate := o.Predicate
	if !o.Exact {
		predicate = nil
	}
	if (predicate != nil || len(o.Keys) > 0) && b.Device.Place() == memory.Host {
		if scan.filter, err = newScanFilter(ctx, b, first, predicate, o.Keys); err != nil {
			return nil, inFile(s.Name(), "predicate", err, device.ErrMismatch)
		}
	}
	return scan, nil
}

// parquetScan gives the splits of each row group that is not left out.
type parquetScan struct {
	backend *kernels.Backend
	paths   []string // yet to open
	parquet ParquetReadOptions
	options table.ScanOptions
	first   *arrow.Schema // of the first file
	want    *arrow.Schema // of the batches
	filter  *scanFilter   // nil where rows are not filtered

	file   *sharedFile
	may    func(*parquetFile, int) (map[string]expr.Range, bool)
	stated map[string]expr.Range // of the row group at hand, as of groupReader
	fields []int                 // of want, in the file, and then those that only the filter reads
	size   int64                 // rows of a batch
	group  int                   // the next one
	at     int64                 // the next row of the group before, up to end
	end    int64
	part   int64 // rows of a split of it
	rows   int64 // of the splits given
}

// sharedFile is a file that is closed with the last of its users: who lists its row groups,
// and their splits.
type sharedFile struct {
	*parquetFile
	users atomic.Int64
}

func (f *sharedFile) drop() {
	if f.users.Add(-1) == 0 {
		f.close()
	}
}

// Next is the next part of a row group.
func (s *parquetScan) Next(ctx context.Context) (flow.Split, error) {
	for {
		if s.options.Predicate == nil && s.filter == nil && s.options.Limit > 0 && s.rows >= s.options.Limit {
			return nil, io.EOF
		}
		if s.at < s.end {
			return s.next(), nil
		}
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
		f, g := s.file.parquetFile, s.group
		s.group++
		if rows := f.meta.RowGroup(g).NumRows(); rows > 0 {
			if stated, may := s.may(f, g); may {
				s.at, s.end, s.part, s.stated = 0, rows, s.cut(f, g, rows), stated
				continue
			}
		}
		if err := canceled(ctx, f.path); err != nil {
			return nil, err
		}
	}
}

// next is the split of the next rows of the row group at hand.
func (s *parquetScan) next() *parquetSplit {
	from := s.at
	s.at = min(s.end, from+s.part)
	s.rows += s.at - from
	s.file.users.Add(1)
	return &parquetSplit{file: s.file.parquetFile, shared: s.file, g: s.group - 1, from: hostMemory(s.backend), want: s.want, fields: s.fields,
		filter: s.filter, stated: s.stated, size: s.size, at: from, end: s.at}
}

const (
	// splitsEach is how many splits there should be for each worker.
	splitsEach = 2
	// longestSplit is how many batches a split has at most, where it can be cut: as many as
	// wait for a consumer before their turn.
	longestSplit = 16
)

// cut is how many rows of a row group are a split: whole batches, so that batches are the
// same however it is cut.
func (s *parquetScan) cut(f *parquetFile, g int, rows int64) int64 {
	for _, i := range s.fields {
		if !f.likelyFlat(g, i) {
			return rows
		}
	}
	batches := (rows + s.size - 1) / s.size
	pieces := (batches + longestSplit - 1) / longestSplit
	if groups := int64(f.meta.NumRowGroups()) * int64(1+len(s.paths)); groups < splitsEach*int64(processors.Count()) {
		pieces = max(pieces, min(batches, splitsEach*int64(processors.Count())/groups))
	}
	return (batches + pieces - 1) / pieces * s.size
}

func (s *parquetScan) open(path string) (err error) {
	f, err := openParquet(path, s.parquet)
	if err != nil {
		return err
	}
	if s.file != nil {
		s.file.drop()
	}
	s.file = &sharedFile{parquetFile: f}
	s.file.users.Store(1)
	s.group, s.fields = 0, nil
	if err := sameColumns(path, s.first, f.schema, s.options.Columns == nil); err != nil {
		return err
	}
	for _, want := range s.want.Fields() {
		s.fields = append(s.fields, f.schema.FieldIndices(want.Name)[0])
	}
	s.size = batchRows(s.options.BatchRows, len(s.fields))
	for _, name := range s.filter.besides(s.want) {
		s.fields = append(s.fields, f.schema.FieldIndices(name)[0])
	}
	s.may, err = pruner(path, f.schema, s.options.Predicate)
	return err
}

// Close ends the scan.
func (s *parquetScan) Close() error {
	if s.file != nil {
		s.file.drop()
		s.file = nil
	}
	return s.filter.close()
}

// parquetSplit is some rows of a row group.
type parquetSplit struct {
	file    *parquetFile
	shared  *sharedFile // nil where the file is open for longer
	g       int
	from    memory.Allocator
	want    *arrow.Schema
	fields  []int // as those of parquetScan
	filter  *scanFilter
	stated  map[string]expr.Range // as of groupReader
	size    int64
	at, end int64
	there   *fetched

	reader *groupReader
	small  int64 // rows of batches up to row until: those of size have too many texts
	until  int64
	err    error
}

// Next is the next batch.
func (p *parquetSplit) Next(ctx context.Context) (*table.Batch, error) {
	if p.err != nil {
		return nil, p.err
	}
	b, err := p.next(ctx)
	p.err = err
	return b, err
}

func (p *parquetSplit) next(ctx context.Context) (*table.Batch, error) {
	if p.size == 0 {
		p.size = batchRows(0, len(p.fields))
	}
	if len(p.fields) == 0 {
		n := min(p.size, p.end-p.at)
		if p.at += n; n == 0 {
			return nil, io.EOF
		}
		return table.NewBatch(p.want, n, nil)
	}
	if p.reader == nil {
		if err := p.begin(); err != nil {
			return nil, err
		}
	}
	for {
		size := p.size
		if p.reader.at < p.until {
			size = min(p.small, p.until-p.reader.at)
		}
		b, err := p.reader.next(ctx, size)
		if !errors.Is(err, errLongTexts) {
			return b, err
		}
		if size == 1 {
			return nil, &Error{Path: p.file.path, Part: rowGroup(p.g), Kind: device.ErrOutOfMemory, Cause: err}
		}
		// Again with fewer rows, as far as this batch would have been.
		if p.reader.at >= p.until {
			p.until = p.reader.at + size
		}
		p.small = max(1, size/16)
	}
}

func (p *parquetSplit) begin() error {
	for _, i := range p.fields {
		field := p.file.schema.Field(i)
		if err := supported(p.file.path, field); err != nil {
			return err
		}
		if hasStruct(field.Type) {
			return unsupported(p.file.path, field.Name, "columns of type %s in Parquet; choose columns without it", field.Type)
		}
	}
	p.reader = &groupReader{file: p.file, g: p.g, from: p.from, want: p.want, fields: p.fields, filter: p.filter, stated: p.stated, at: p.at, end: p.end,
		there: p.there, most: largestBlock(p.file.size)}
	return nil
}

// all hands every batch to emit.
func (p *parquetSplit) all(ctx context.Context, emit func(*table.Batch) error) error {
	for {
		b, err := p.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = emit(b)
		}
		if err != nil {
			return err
		}
	}
}

// Close gives back what the split holds.
func (p *parquetSplit) Close() {
	if p.reader != nil {
		p.reader.close()
	}
	if p.shared != nil {
		p.shared.drop()
	}
}
