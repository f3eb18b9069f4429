package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// WithRowNumber is the table with a column of int64 behind the others: first for the first
// row, and one more for each. A column of that name is an ErrMismatch.
func (t *Table) WithRowNumber(ctx context.Context, name string, first int64) (_ *Table, err error) {
	meta := t.schema.Metadata()
	field := arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	schema := arrow.NewSchema(append(t.schema.Fields(), field), &meta)
	if err := uniqueNames(schema); err != nil {
		return nil, wrapError("row number", err)
	}
	if first > 0 && first > 1<<63-1-t.rows {
		return nil, fmt.Errorf("row number: %w: the last of %d rows from %d has no number of 64 bits", errMismatch, t.rows, first)
	}
	s, err := t.backend.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var chunks []*Batch
	for _, b := range t.chunks {
		made, err := t.numberedBatch(ctx, s, b, schema, first)
		if err != nil {
			for _, c := range chunks {
				c.Release()
			}
			return nil, wrapError("row number", err)
		}
		chunks = append(chunks, made)
		first += b.Len()
	}
	return NewTable(t.backend, schema, chunks)
}

// numberedBatch is a batch with the numbers of its rows.
func (t *Table) numberedBatch(ctx context.Context, s device.Stream, b *Batch, schema *arrow.Schema, first int64) (*Batch, error) {
	if err := device.Canceled(ctx, t.backend.Device.Name(), "row number"); err != nil {
		return nil, err
	}
	alloc := t.backend.Device.Memory()
	if !alloc.Place().HostAccessible() {
		alloc = t.backend.Device.Pinned()
	}
	buffer, err := memory.New(alloc, 8*b.Len())
	if err != nil {
		return nil, err
	}
	numbers := memory.View[int64](buffer)
	for i := range numbers[:b.Len()] {
		numbers[i] = first + int64(i)
	}
	c, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: b.Len(), Buffers: []*memory.Buffer{nil, buffer}})
	if err != nil {
		return nil, err
	}
	defer c.Release()
	there, err := OnDevice(ctx, t.backend, s, c)
	if err != nil {
		return nil, err
	}
	columns := make([]*memory.Column, 0, len(b.Columns())+1)
	for _, c := range b.Columns() {
		columns = append(columns, c.Retain())
	}
	return NewBatch(schema, b.Len(), append(columns, there))
}
