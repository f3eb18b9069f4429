package flow

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// BatchOf makes a batch of an arrow-go record batch, without copying but of
// views (see memory.Held).
func BatchOf(r arrow.RecordBatch) (*Batch, error) {
	var columns []*memory.Column
	for i, a := range r.Columns() {
		c, err := memory.FromArrow(a)
		if err != nil {
			releaseColumns(columns)
			return nil, fmt.Errorf("column %q: %w", r.ColumnName(i), err)
		}
		columns = append(columns, c)
	}
	return NewBatch(memory.HeldSchema(r.Schema()), r.NumRows(), columns)
}

// Record makes an arrow-go record batch of a batch in host memory, without
// copying. The caller releases it.
func (b *Batch) Record() (arrow.RecordBatch, error) {
	arrays := make([]arrow.Array, 0, len(b.columns))
	defer func() {
		for _, a := range arrays {
			a.Release()
		}
	}()
	for i, c := range b.columns {
		a, err := memory.ToArrow(c)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", b.schema.Field(i).Name, err)
		}
		arrays = append(arrays, a)
	}
	return array.NewRecordBatch(b.schema, arrays, b.rows), nil
}

// Move queues the copies of a batch's columns, and gives the batch of the
// copies: see device.Mover.
func (b *Batch) Move(m *device.Mover) (*Batch, error) {
	columns := make([]*memory.Column, 0, len(b.columns))
	for _, c := range b.columns {
		there, err := m.Column(c)
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, there)
	}
	return NewBatch(b.schema, b.rows, columns)
}
