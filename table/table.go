package table

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// Table is data on a backend: a schema and chunks of it. It is immutable, and
// counted by Retain and Release.
type Table struct {
	backend *kernels.Backend
	schema  *arrow.Schema
	chunks  []*Batch
	rows    int64
	refs    atomic.Int64
	stats   tableStats
}

// NewTable makes a table of chunks of one schema and takes over the caller's
// references to them, also when it fails. Chunks without rows are left out. A
// chunk with other columns, or two columns of one name, are an ErrMismatch. Of a
// dictionary column whose chunks have more values in all than indices of 8 or 16
// bits number, the table has indices of 32 bits.
func NewTable(b *kernels.Backend, schema *arrow.Schema, chunks []*Batch) (*Table, error) {
	t := &Table{backend: b, schema: schema}
	t.refs.Store(1)
	for _, c := range chunks {
		if c.Len() == 0 {
			c.Release()
			continue
		}
		t.chunks = append(t.chunks, c)
		t.rows += c.Len()
	}
	err := t.check()
	if err == nil {
		err = t.settle()
	}
	if err != nil {
		t.Release()
		return nil, err
	}
	return t, nil
}

func (t *Table) check() error {
	if t.backend == nil {
		return fmt.Errorf("%w: a table without a backend", device.ErrMismatch)
	}
	if err := uniqueNames(t.schema); err != nil {
		return err
	}
	for k, c := range t.chunks {
		if len(c.Columns()) != t.schema.NumFields() {
			return fmt.Errorf("%w: chunk %d has %d columns, the table %d", device.ErrMismatch, k, len(c.Columns()), t.schema.NumFields())
		}
		for i, f := range t.schema.Fields() {
			if g := c.Schema().Field(i); g.Name != f.Name || !arrow.TypeEqual(f.Type, g.Type) {
				return fmt.Errorf("%w: chunk %d has column %q of type %s where the table has %q of type %s",
					device.ErrMismatch, k, g.Name, g.Type, f.Name, f.Type)
			}
		}
	}
	return nil
}

// uniqueNames checks that no two fields have one name.
func uniqueNames(s *arrow.Schema) error {
	for _, f := range s.Fields() {
		if len(s.FieldIndices(f.Name)) > 1 {
			return fmt.Errorf("%w: two columns are named %q", device.ErrMismatch, f.Name)
		}
	}
	return nil
}

// Backend is where the data lives and is worked on.
func (t *Table) Backend() *kernels.Backend { return t.backend }

// Schema names and types the columns.
func (t *Table) Schema() *arrow.Schema { return t.schema }

// NumRows is the number of rows.
func (t *Table) NumRows() int64 { return t.rows }

// NumColumns is the number of columns.
func (t *Table) NumColumns() int { return t.schema.NumFields() }

// Chunks are the pieces that the table is in, in order, to be read and not
// changed. The caller gets no references.
func (t *Table) Chunks() []*Batch { return slices.Clip(t.chunks) }

// Retain adds a reference and returns t. On nil it does nothing.
func (t *Table) Retain() *Table {
	if t != nil {
		t.refs.Add(1)
	}
	return t
}

// Release drops a reference, and with the last one those to the chunks. On nil
// it does nothing.
func (t *Table) Release() {
	if t != nil && t.refs.Add(-1) == 0 {
		for _, c := range t.chunks {
			c.Release()
		}
	}
}
