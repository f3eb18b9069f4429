package dataloader

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// numberRows makes tables of the tensors of a source's numbers.
type numberRows struct {
	Reader
	source  *arrow.Schema
	schema  *arrow.Schema // of the columns
	backend *kernels.Backend
	parts   []Part
}

func (r *numberRows) table(ctx context.Context, _ int64, rows []int64) (*table.Table, error) {
	n := int64(len(rows))
	columns, err := numberColumns(ctx, r.Reader, r.source, r.parts, 0, rows, make([]Tensor, len(r.parts)))
	if err != nil {
		releaseColumns(columns)
		return nil, err
	}
	batch, err := table.NewBatch(r.schema, n, columns)
	if err != nil {
		return nil, err
	}
	return table.NewTable(r.backend, r.schema, []*table.Batch{batch})
}

// Check looks whether the data is what it was.
func (r *numberRows) Check(ctx context.Context) error {
	if c, ok := r.Reader.(checker); ok {
		return c.Check(ctx)
	}
	return nil
}

// stages are those of what is read.
func (r *numberRows) stages() stages { return stagesOf(r.Reader) }

// numberColumns reads the tensors of parts, and gives the columns that those from the
// first one on are: each of one column of the schema, with a mask. Their memory is
// taken here, that of the parts before is in tensors already.
func numberColumns(ctx context.Context, from Reader, schema *arrow.Schema, parts []Part, first int, rows []int64, tensors []Tensor) ([]*memory.Column, error) {
	n := int64(len(rows))
	buffers := make([]*memory.Buffer, len(parts))
	defer func() {
		for _, b := range buffers {
			b.Release()
		}
	}()
	for i := first; i < len(parts); i++ {
		data, mask := parts[i].bytes(n)
		var err error
		if buffers[i], err = memory.New(memory.Heap, data); err != nil {
			return nil, err
		}
		tensors[i] = parts[i].over(n, buffers[i].Bytes(), make([]byte, mask), nil)
	}
	if err := from.Read(ctx, rows, tensors); err != nil {
		return nil, err
	}
	columns := make([]*memory.Column, 0, len(parts)-first)
	for i := first; i < len(parts); i++ {
		var valid *memory.Buffer
		if slices.Contains(tensors[i].Valid, 0) {
			var err error
			if valid, err = memory.NewZeroed(memory.Heap, memory.BitmapBytes(n)); err != nil {
				return columns, err
			}
			for k, v := range tensors[i].Valid {
				if v != 0 {
					memory.Bitmap(valid.Bytes()).Set(int64(k))
				}
			}
		}
		c, err := memory.NewColumn(memory.Parts{Type: schema.Field(parts[i].Columns[0]).Type, Len: n, Nulls: memory.UnknownNulls,
			Buffers: []*memory.Buffer{valid, buffers[i].Retain()}})
		if err != nil {
			return columns, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}
