package storage

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// openParquet finds the row groups.
func (p *Pieces) openParquet(ctx context.Context, b *kernels.Backend, s *ParquetSource) error {
	if s.err != nil {
		return s.err
	}
	for _, path := range s.paths {
		if err := canceled(ctx, path); err != nil {
			return err
		}
		f, err := openParquet(path)
		if err != nil {
			return err
		}
		if err := p.opened(f.input, f.close); err != nil {
			return err
		}
		if p.schema == nil {
			p.schema = f.schema
		}
		if err := sameColumns(path, p.schema, f.schema); err != nil {
			return err
		}
		for g := range f.meta.NumRowGroups() {
			if rows := f.meta.RowGroup(g).NumRows(); rows > 0 {
				p.pieces = append(p.pieces, piece{rowGroup(g), path, rows, func(ctx context.Context, want *arrow.Schema, emit func(*table.Batch) error) error {
					scan := &parquetScan{backend: b, want: want}
					return scan.read(ctx, f, g, fieldsOf(f, want), emit)
				}, func(ctx context.Context, want *arrow.Schema, as []arrow.DataType) (*WordGroup, error) {
					r := groupReader{file: f, g: g, from: p.rooms, memory: p.memory, want: want, fields: fieldsOf(f, want), most: largestBlock(f.size)}
					return r.words(ctx, as)
				}})
			}
		}
	}
	return nil
}

// fieldsOf are the numbers in a file of the columns that are wanted.
func fieldsOf(f *parquetFile, want *arrow.Schema) (fields []int) {
	for _, w := range want.Fields() {
		fields = append(fields, f.schema.FieldIndices(w.Name)[0])
	}
	return fields
}
