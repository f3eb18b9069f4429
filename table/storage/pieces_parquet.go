package storage

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// openParquet finds the row groups.
func (p *Pieces) openParquet(ctx context.Context, b *kernels.Backend, s *ParquetSource) error {
	if s.err != nil {
		return s.err
	}
	files, err := openFooters(ctx, s.paths, s.options)
	if err != nil {
		return err
	}
	for i, f := range files {
		path := s.paths[i]
		if err := p.opened(f.input, f.sum, f.close); err != nil {
			closeAll(files[i+1:])
			return err
		}
		if p.schema == nil {
			p.schema = f.schema
		}
		if p.more == nil {
			p.more = sameColumns(path, p.schema, f.schema, true)
		}
		if err := sameColumns(path, p.schema, f.schema, false); err != nil {
			closeAll(files[i+1:])
			return err
		}
		for g := range f.meta.NumRowGroups() {
			if rows := f.meta.RowGroup(g).NumRows(); rows > 0 {
				p.pieces = append(p.pieces, piece{part: rowGroup(g), path: path, in: f.input, rows: rows, spans: func(want *arrow.Schema) []span {
					r := groupReader{file: f, g: g, fields: fieldsOf(f, want)}
					return together(r.spans())
				}, read: func(ctx context.Context, want *arrow.Schema, there *fetched, emit func(*table.Batch) error) error {
					one := &parquetSplit{file: f, g: g, want: want, fields: fieldsOf(f, want), end: rows, there: there, from: hostMemory(b)}
					defer one.Close()
					return one.all(ctx, emit)
				}, words: func(ctx context.Context, want *arrow.Schema, there *fetched, as []arrow.DataType) (*WordGroup, error) {
					r := groupReader{file: f, g: g, from: p.rooms, memory: p.memory, want: want, fields: fieldsOf(f, want), there: there, most: largestBlock(f.size)}
					return r.words(ctx, as)
				}})
			}
		}
	}
	return nil
}

// openFooters opens files and reads their footers, several at a time: of many small files
// that takes as long as their rows. The error is that of the first file, in their order,
// that has one; none is open then.
func openFooters(ctx context.Context, paths []string, o ParquetReadOptions) ([]*parquetFile, error) {
	files, errs := make([]*parquetFile, len(paths)), make([]error, len(paths))
	var next atomic.Int64
	var failed atomic.Bool // files that nobody has begun lie behind one that failed
	var all sync.WaitGroup
	for range min(processors.Count(), len(paths)) {
		all.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(paths) {
					return
				}
				if errs[i] = canceled(ctx, paths[i]); errs[i] == nil {
					files[i], errs[i] = openParquet(paths[i], o)
				}
				if errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			closeAll(files)
			return nil, err
		}
	}
	return files, nil
}

// closeAll closes the files that are open.
func closeAll(files []*parquetFile) {
	for _, f := range files {
		if f != nil {
			f.close()
		}
	}
}

// fieldsOf are the numbers in a file of the columns that are wanted.
func fieldsOf(f *parquetFile, want *arrow.Schema) (fields []int) {
	for _, w := range want.Fields() {
		fields = append(fields, f.schema.FieldIndices(w.Name)[0])
	}
	return fields
}
