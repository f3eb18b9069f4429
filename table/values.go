package table

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Value lists the Go types that a column is read back as.
type Value interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | string | time.Time
}

// Values are the values of a column as a Go slice: of numbers in the column's
// own type (temporal ones as int32 or int64 too), of bools, of strings from
// text and binary columns and dictionaries of them, of time.Time from dates and
// timestamps. Numbers of a table of one chunk on the host are not copied: the
// slice is valid while the table lives, and must not be changed. A null is an ErrMismatch that
// names its row: see NullableValues. Another type is an ErrMismatch too.
func Values[T Value](t *Table, column string) ([]T, error) {
	out, valid, err := NullableValues[T](t, column)
	if err != nil {
		return nil, err
	}
	for i, v := range valid {
		if !v {
			return nil, fmt.Errorf("%w: column %q is null in row %d", errMismatch, column, i)
		}
	}
	return out, nil
}

// NullableValues is Values with the rows that are not null; valid is nil where
// no row is null. What stands in a null row is undefined.
func NullableValues[T Value](t *Table, column string) (values []T, valid []bool, err error) {
	at := t.schema.FieldIndices(column)
	if len(at) == 0 {
		return nil, nil, expr.UnknownColumn(column, fieldNames(t.schema))
	}
	typ := t.schema.Field(at[0]).Type
	if !readable[T](typ) {
		var zero T
		return nil, nil, fmt.Errorf("%w: column %q of type %s as %T", errMismatch, column, expr.TypeName(typ), zero)
	}
	host, err := t.columnOnHost(context.Background(), at[0])
	if err != nil {
		return nil, nil, err
	}
	defer host.Release()
	for _, chunk := range host.chunks {
		c := chunk.Columns()[0]
		part := valuesOf[T](c)
		if len(t.chunks) == 1 && c == t.chunks[0].Columns()[at[0]] {
			values = part
		} else {
			values = append(values, part...)
		}
		valid = appendValid(valid, c, int64(len(values))-c.Len())
	}
	return values, valid, nil
}

// appendValid adds the validity of c, of rows from before on.
func appendValid(valid []bool, c *memory.Column, before int64) []bool {
	if valid == nil && !c.MayHaveNulls() {
		return nil
	}
	for int64(len(valid)) < before {
		valid = append(valid, true)
	}
	for i := range c.Len() {
		valid = append(valid, !c.IsNull(i))
	}
	return valid
}

// readable reports whether a column of type t can be read as T.
func readable[T Value](t arrow.DataType) bool {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
		var zero T
		_, text := any(zero).(string)
		return text && kernels.BinaryTypes.Has(t.ID())
	}
	id := t.ID()
	var zero T
	switch any(zero).(type) {
	case bool:
		return id == arrow.BOOL
	case string:
		return kernels.BinaryTypes.Has(id)
	case time.Time:
		return id == arrow.DATE32 || id == arrow.DATE64 || id == arrow.TIMESTAMP
	case int32:
		return id == arrow.INT32 || id == arrow.DATE32 || id == arrow.TIME32
	case int64:
		return id == arrow.INT64 || kernels.TemporalTypes.Has(id) && memory.Width(t) == 8
	case int8:
		return id == arrow.INT8
	case int16:
		return id == arrow.INT16
	case uint8:
		return id == arrow.UINT8
	case uint16:
		return id == arrow.UINT16
	case uint32:
		return id == arrow.UINT32
	case uint64:
		return id == arrow.UINT64
	case float32:
		return id == arrow.FLOAT32
	default:
		return id == arrow.FLOAT64
	}
}

func valuesOf[T Value](c *memory.Column) []T {
	var zero T
	switch any(zero).(type) {
	case bool, string, time.Time:
	default:
		return memory.Values[T](c)
	}
	out := make([]T, c.Len())
	for i := range out {
		v := kernels.ScalarAt(c, int64(i))
		if !v.Valid() {
			continue
		}
		switch p := any(&out[i]).(type) {
		case *bool:
			*p = v.Bool()
		case *string:
			*p = v.Text()
		case *time.Time:
			*p = timeOf(v)
		}
	}
	return out
}

// timeOf is a date or timestamp as a time, in the timestamp's zone.
func timeOf(v kernels.Scalar) time.Time {
	switch t := v.Type().(type) {
	case *arrow.Date32Type:
		return arrow.Date32(v.Int64()).ToTime()
	case *arrow.Date64Type:
		return arrow.Date64(v.Int64()).ToTime()
	case *arrow.TimestampType:
		at := arrow.Timestamp(v.Int64()).ToTime(t.Unit)
		if zone, err := t.GetZone(); err == nil && zone != nil {
			return at.In(zone)
		}
		return at
	}
	return time.Time{}
}

// Value is the value in a row of a column. The column and the row must be
// there.
func (t *Table) Value(row int64, column string) (kernels.Scalar, error) {
	at := t.schema.FieldIndices(column)
	if len(at) == 0 {
		return kernels.Scalar{}, expr.UnknownColumn(column, fieldNames(t.schema))
	}
	if row < 0 || row >= t.rows {
		return kernels.Scalar{}, fmt.Errorf("%w: row %d of a table of %d", errMismatch, row, t.rows)
	}
	return t.read(context.Background(), row, at[0])
}

// read is the value in a row of column i, from wherever the table is.
func (t *Table) read(ctx context.Context, row int64, i int) (kernels.Scalar, error) {
	host, err := t.rowsOnHost(ctx, []int64{row})
	if err != nil {
		return kernels.Scalar{}, err
	}
	defer host.Release()
	if host.rows != t.rows {
		row = 0
	}
	return host.at(row, i), nil
}

// at is the value in a row of column i of a table on the host.
func (t *Table) at(row int64, i int) kernels.Scalar {
	for _, c := range t.chunks {
		if row < c.Len() {
			return kernels.ScalarAt(c.Columns()[i], row)
		}
		row -= c.Len()
	}
	return kernels.Scalar{}
}
