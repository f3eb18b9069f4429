package flow

import (
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Batch is some rows: columns of one length that a schema names and types. It
// is immutable, and counted by Retain and Release. It may have rows and no
// columns.
type Batch struct {
	schema  *arrow.Schema
	columns []*memory.Column
	rows    int64
	refs    atomic.Int64
}

// NewBatch makes a batch of columns of the schema's types, rows long each, and
// takes over the caller's references to them, also when it fails. A column of
// another type or length is an ErrMismatch that names it.
func NewBatch(schema *arrow.Schema, rows int64, columns []*memory.Column) (*Batch, error) {
	b := &Batch{schema: schema, columns: columns, rows: rows}
	b.refs.Store(1)
	if err := b.check(); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

func (b *Batch) check() error {
	if b.schema.NumFields() != len(b.columns) {
		return fmt.Errorf("%w: %d columns for a schema of %d fields", device.ErrMismatch, len(b.columns), b.schema.NumFields())
	}
	if b.rows < 0 {
		return fmt.Errorf("%w: a batch of %d rows", device.ErrMismatch, b.rows)
	}
	for i, c := range b.columns {
		f := b.schema.Field(i)
		if c == nil {
			return fmt.Errorf("%w: column %q is missing", device.ErrMismatch, f.Name)
		}
		if !arrow.TypeEqual(f.Type, c.Type()) {
			return fmt.Errorf("%w: column %q is of type %s, the schema says %s", device.ErrMismatch, f.Name, c.Type(), f.Type)
		}
		if c.Len() != b.rows {
			return fmt.Errorf("%w: column %q has %d rows, the batch has %d", device.ErrMismatch, f.Name, c.Len(), b.rows)
		}
	}
	return nil
}

// Schema names and types the columns.
func (b *Batch) Schema() *arrow.Schema { return b.schema }

// Len is the number of rows.
func (b *Batch) Len() int64 { return b.rows }

// NumColumns is the number of columns.
func (b *Batch) NumColumns() int { return len(b.columns) }

// Column is column i. The caller gets no reference.
func (b *Batch) Column(i int) *memory.Column { return b.columns[i] }

// Columns are all columns, in the schema's order. The caller gets no references,
// and changes nothing in the list.
func (b *Batch) Columns() []*memory.Column { return b.columns }

// ColumnNamed is the column of that name, nil if there is none. The caller gets
// no reference.
func (b *Batch) ColumnNamed(name string) *memory.Column {
	if i := b.schema.FieldIndices(name); len(i) > 0 {
		return b.columns[i[0]]
	}
	return nil
}

// Size is how many bytes the rows take, without dictionaries: see memory.Size.
func (b *Batch) Size() (n int64) {
	for _, c := range b.columns {
		n += memory.Size(c, nil)
	}
	return n
}

// Slice is n rows from offset, without a copy, as a new reference. A range
// outside of the batch is an ErrMismatch.
func (b *Batch) Slice(offset, n int64) (*Batch, error) {
	if offset < 0 || n < 0 || offset > b.rows-n {
		return nil, fmt.Errorf("%w: rows [%d, %d) of a batch of %d", device.ErrMismatch, offset, offset+n, b.rows)
	}
	if n == b.rows {
		return b.Retain(), nil
	}
	columns := make([]*memory.Column, len(b.columns))
	for i, c := range b.columns {
		columns[i], _ = c.Slice(offset, n) // the range was checked
	}
	return NewBatch(b.schema, n, columns)
}

// Retain adds a reference and returns b. On nil it does nothing.
func (b *Batch) Retain() *Batch {
	if b != nil {
		b.refs.Add(1)
	}
	return b
}

// Release drops a reference, and with the last one those to the columns. On nil
// it does nothing.
func (b *Batch) Release() {
	if b != nil && b.refs.Add(-1) == 0 {
		releaseColumns(b.columns)
	}
}

func releaseColumns(columns []*memory.Column) {
	for _, c := range columns {
		c.Release()
	}
}
