package table

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Slice is n rows from offset on, without a copy: fewer if there are fewer. An offset
// below 0 counts from the end, and what would lie before the first row is left out:
// Slice(-3, 3) of 2 rows is both. n below 0 is an ErrMismatch.
func (t *Table) Slice(offset, n int64) (*Table, error) {
	if n < 0 {
		return nil, fmt.Errorf("slice: %w: %d rows", errMismatch, n)
	}
	if offset < 0 {
		if offset += t.rows; offset < 0 {
			n, offset = max(0, n+offset), 0 // n+offset: of numbers of two signs
		}
	}
	offset = min(offset, t.rows)
	return t.window(offset, min(n, t.rows-offset))
}

// Concat is the rows of the tables, one after the other, without a copy where all
// have the same columns in the same order on one backend. They must have the columns
// of the first, in any order: else it is an ErrMismatch, as no table is.
func Concat(ctx context.Context, tables ...*Table) (*Table, error) {
	if len(tables) == 0 {
		return nil, fmt.Errorf("concat: %w: no table", errMismatch)
	}
	first := tables[0]
	var chunks []*Batch
	for _, t := range tables {
		if t.backend != first.backend || wide(t.schema) != t.schema || !sameColumns(t.schema, first.schema) {
			return united(ctx, tables)
		}
		chunks = append(chunks, t.chunks...)
	}
	for _, c := range chunks {
		c.Retain()
	}
	return NewTable(first.backend, first.schema, chunks)
}

// united is Concat by a query, which gives dictionaries wide indices, puts columns in the order of the first table's, and says what is
// wrong with them.
func united(ctx context.Context, tables []*Table) (*Table, error) {
	others := make([]Relation, len(tables)-1)
	for i, t := range tables[1:] {
		others[i] = t
	}
	return From(tables[0]).Union(others...).Collect(ctx)
}

// sameColumns reports whether two schemas have the same names and types in one order.
func sameColumns(a, b *arrow.Schema) bool {
	if a.NumFields() != b.NumFields() {
		return false
	}
	for i := range a.NumFields() {
		f, g := a.Field(i), b.Field(i)
		if f.Name != g.Name || !arrow.TypeEqual(f.Type, g.Type) {
			return false
		}
	}
	return true
}
