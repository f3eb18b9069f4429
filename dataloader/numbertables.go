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

func (r *numberRows) table(ctx context.Context, ticket int64, rows []int64) (*table.Table, error) {
	return bothStepsOfTable(ctx, r, ticket, rows)
}

func (r *numberRows) gatherTable(ctx context.Context, ticket int64, rows []int64) (gatheredTable, error) {
	g := &gatheredNumbers{of: r, numberRoom: numberRoom{tensors: make([]Tensor, len(r.parts))}}
	if err := g.read(ctx, r.Reader, ticket, r.parts, 0, rows); err != nil {
		return nil, err
	}
	return g, nil
}

// gatheredNumbers are tensors that a table is to be made of.
type gatheredNumbers struct {
	numberRoom
	of *numberRows
}

func (g *gatheredNumbers) table(ctx context.Context) (*table.Table, error) {
	r := g.of
	columns, err := g.columns(ctx, r.source, r.parts)
	if err != nil {
		releaseColumns(columns)
		return nil, err
	}
	batch, err := table.NewBatch(r.schema, g.rows, columns)
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

// numberRoom is the tensors of parts, of which those from the first one on become columns:
// each of one column of a schema, with a mask. Their memory is taken here, that of the
// parts before is in tensors already.
type numberRoom struct {
	first   int
	rows    int64
	tensors []Tensor
	buffers []*memory.Buffer // of the columns
	later   gathered         // nil where the tensors are written
}

// read reads the tensors, or the first step of them.
func (g *numberRoom) read(ctx context.Context, from Reader, ticket int64, parts []Part, first int, rows []int64) (err error) {
	g.first, g.rows, g.later = first, int64(len(rows)), nil
	read := false
	defer func() {
		if !read {
			g.drop()
		}
	}()
	for i := first; i < len(parts); i++ {
		data, mask := parts[i].bytes(g.rows)
		b, err := memory.New(memory.Heap, data)
		if err != nil {
			return err
		}
		g.buffers = append(g.buffers, b)
		g.tensors[i] = parts[i].over(g.rows, b.Bytes(), make([]byte, mask), nil)
	}
	g.later, err = firstStep(ctx, from, ticket, rows, g.tensors)
	read = err == nil
	return err
}

// drop gives back what was read.
func (g *numberRoom) drop() {
	if g.later != nil {
		g.later.drop()
		g.later = nil
	}
	for _, b := range g.buffers {
		b.Release()
	}
	clear(g.buffers)
	g.buffers = g.buffers[:0]
}

// columns are the tensors from the first one on as columns, some of them where there is an
// error. Nothing is left to drop then.
func (g *numberRoom) columns(ctx context.Context, schema *arrow.Schema, parts []Part) ([]*memory.Column, error) {
	defer g.drop()
	if later := g.later; later != nil {
		g.later = nil
		if _, err := later.evaluate(ctx, func(int64) []Tensor { return g.tensors }); err != nil {
			return nil, err
		}
	}
	columns := make([]*memory.Column, 0, len(parts)-g.first)
	for i := g.first; i < len(parts); i++ {
		var valid *memory.Buffer
		if slices.Contains(g.tensors[i].Valid, 0) {
			var err error
			if valid, err = memory.NewZeroed(memory.Heap, memory.BitmapBytes(g.rows)); err != nil {
				return columns, err
			}
			for k, v := range g.tensors[i].Valid {
				if v != 0 {
					memory.Bitmap(valid.Bytes()).Set(int64(k))
				}
			}
		}
		c, err := memory.NewColumn(memory.Parts{Type: schema.Field(parts[i].Columns[0]).Type, Len: g.rows, Nulls: memory.UnknownNulls,
			Buffers: []*memory.Buffer{valid, g.buffers[i-g.first].Retain()}})
		if err != nil {
			return columns, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}
