package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// RowsInto is where GatherRows writes: a matrix of one row for each row number and
// of one column for each column, or with ColumnMajor that matrix transposed.
type RowsInto struct {
	Values Matrix // of any number's type
	// Mask, where its Data is not nil, is of uint8 and of the shape of Values: 1 where
	// there is a value and 0 where it is null.
	Mask        Matrix
	ColumnMajor bool
}

// GatherRowsFunc casts rows of columns into the elements of a matrix. Element (i, j)
// of to is value rows[i] of columns[j], and 0 where that is null.
type GatherRowsFunc func(ctx context.Context, s device.Stream, columns []*memory.Column, rows *memory.Column, to RowsInto) error

// RowTypes are the types of columns that GatherRows takes: bools, which are the numbers
// 0 and 1, numbers, and temporal values, which are the integers that they are held as.
var RowTypes = BoolTypes | NumberTypes | TemporalTypes

// GatherRows writes rows of columns as a matrix of one type: a batch of a training.
// rows are numbers of rows, of int64, without nulls, below the columns' length, which
// is not checked: one out of range is a null. Values of the matrix's own type keep
// their bits; numbers are rounded to floats to the nearest, and integers keep the low
// bits in a narrower type, which who calls has looked at. Floats are not cut to
// integers (ErrUnsupported). Columns of other types are an ErrUnsupported, and so are
// backends without such a kernel: those of the host have none, as a package that
// gathers there reads the columns itself.
func (b *Backend) GatherRows(ctx context.Context, s device.Stream, columns []*memory.Column, rows *memory.Column, to RowsInto) (err error) {
	const call = "gather_rows"
	defer b.guard(call, &err)
	e := b.Set.GatherRows
	if err := b.admit(ctx, s, call, e.Func != nil, e.Types, columns...); err != nil {
		return err
	}
	if err := b.admit(ctx, s, call, true, TypesOf(arrow.INT64), rows); err != nil {
		return err
	}
	if rows.MayHaveNulls() {
		return b.fail(device.ErrMismatch, call, "the numbers of rows may be null")
	}
	if err := b.checkMatrix(call, "the values", to.Values, NumberTypes); err != nil {
		return err
	}
	for i, c := range columns {
		if err := b.sameLength(call, columns[0], c); err != nil {
			return err
		}
		if FloatTypes.Has(c.Type().ID()) && !FloatTypes.Has(to.Values.Type.ID()) {
			return b.fail(device.ErrUnsupported, call, "column %d is of type %s, which is not cut to %s", i, c.Type(), to.Values.Type)
		}
	}
	m := to.Values
	if to.ColumnMajor {
		m.Rows, m.Cols = m.Cols, m.Rows
	}
	if m.Rows != rows.Len() || m.Cols != int64(len(columns)) {
		return b.fail(device.ErrMismatch, call, "%d rows of %d columns into %d x %d", rows.Len(), len(columns), m.Rows, m.Cols)
	}
	if to.Mask.Data != nil {
		if err := b.checkMatrix(call, "the mask", to.Mask, TypesOf(arrow.UINT8)); err != nil {
			return err
		}
		if to.Mask.Rows != to.Values.Rows || to.Mask.Cols != to.Values.Cols {
			return b.fail(device.ErrMismatch, call, "a mask of %d x %d for values of %d x %d", to.Mask.Rows, to.Mask.Cols, to.Values.Rows, to.Values.Cols)
		}
	}
	if m.Rows == 0 || m.Cols == 0 {
		return nil
	}
	return e.Func(ctx, s, columns, rows, to)
}
