package kernels

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Datum is an argument that may be a column or one value for every row: a
// *memory.Column or a Scalar.
type Datum interface {
	// Type is the Arrow type.
	Type() arrow.DataType
}

// operands checks that each Datum is a column or a Scalar with a type, that
// the columns (and cond, unless nil) have one length, and that there is a
// column to tell the number of rows. It returns the columns.
func (b *Backend) operands(call string, cond *memory.Column, args ...Datum) ([]*memory.Column, error) {
	var cols []*memory.Column
	if cond != nil {
		cols = append(cols, cond)
	}
	for i, a := range args {
		switch a := a.(type) {
		case *memory.Column:
			if a == nil {
				return nil, b.fail(device.ErrMismatch, call, "argument %d is no column", i)
			}
			cols = append(cols, a)
		case Scalar:
			if a.typ == nil {
				return nil, b.fail(device.ErrMismatch, call, "argument %d is a scalar without a type", i)
			}
		default:
			return nil, b.fail(device.ErrMismatch, call, "argument %d is a %T, not a column or scalar", i, a)
		}
	}
	if len(cols) == 0 {
		return nil, b.fail(device.ErrMismatch, call, "only scalars given: nothing says how many rows")
	}
	return cols, b.sameLength(call, cols...)
}

// present checks that a column was given.
func (b *Backend) present(call string, cols ...*memory.Column) error {
	for i, c := range cols {
		if c == nil {
			return b.fail(device.ErrMismatch, call, "column %d is nil", i)
		}
	}
	return nil
}

// plain is the type of the values: of a dictionary that of its dictionary.
func plain(t arrow.DataType) arrow.DataType {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return t
}

// sameType reports whether values of two types can be compared and mixed: equal
// types, but that two zoned timestamps of one unit are the same instants.
func sameType(a, b arrow.DataType) bool {
	if x, ok := a.(*arrow.TimestampType); ok {
		if y, ok := b.(*arrow.TimestampType); ok {
			return x.Unit == y.Unit && (x.TimeZone == "") == (y.TimeZone == "")
		}
	}
	return arrow.TypeEqual(a, b)
}

// badValue is an ErrValue with a text; the caller names the row.
func badValue(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{device.ErrValue}, args...)...)
}

// atRow names the row of an error.
func atRow(row int64, err error) error { return fmt.Errorf("row %d: %w", row, err) }

// BuildColumn builds a host column of n values of type t, each made by f: for what
// is written to be read and not to be fast. An error of f names the row.
func BuildColumn(ctx context.Context, s device.Stream, t arrow.DataType, n int64, f func(i int64) (Scalar, error)) (*memory.Column, error) {
	values := make([]Scalar, n)
	for i := range values {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, device.Canceled(ctx, s.Device().Name(), "")
		}
		v, err := f(int64(i))
		if err != nil {
			return nil, atRow(int64(i), err)
		}
		values[i] = v
	}
	return FromScalars(s.Device().Memory(), t, values)
}
