package columnar

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// number is what the suite's columns hold.
type number interface{ uint32 | int64 | float64 }

func typeOf[T number]() arrow.DataType {
	var zero T
	switch any(zero).(type) {
	case uint32:
		return arrow.PrimitiveTypes.Uint32
	case int64:
		return arrow.PrimitiveTypes.Int64
	default:
		return arrow.PrimitiveTypes.Float64
	}
}

// upload makes a column of v on the backend's device: v itself where that is
// the host, else a copy.
func upload[T number](ctx context.Context, b *kernels.Backend, v []T) (*memory.Column, error) {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*memory.Width(typeOf[T]()))
	data := memory.Wrap(bytes, nil)
	if b.Device.Place() != memory.Host {
		defer data.Release()
		s, err := b.NewStream()
		if err != nil {
			return nil, err
		}
		defer s.Close()
		there, err := memory.New(b.Device.Memory(), data.Len())
		if err != nil {
			return nil, err
		}
		if err = s.Copy(there, 0, data, 0, data.Len()); err == nil {
			err = s.Wait(ctx)
		}
		if err != nil {
			there.Release()
			return nil, err
		}
		return fixed[T](there, int64(len(v)))
	}
	return fixed[T](data, int64(len(v)))
}

func fixed[T number](data *memory.Buffer, n int64) (*memory.Column, error) {
	return memory.NewColumn(memory.Parts{Type: typeOf[T](), Len: n, Buffers: []*memory.Buffer{nil, data}})
}

// named is a column of a frame.
type named struct {
	name   string
	values any // []uint32, []int64 or []float64
}

// frame makes a table of one chunk of Go slices.
func frame(ctx context.Context, b *kernels.Backend, columns ...named) (*table.Table, error) {
	var fields []arrow.Field
	var made []*memory.Column
	rows := int64(0)
	for _, c := range columns {
		var col *memory.Column
		var err error
		switch v := c.values.(type) {
		case []uint32:
			col, err = upload(ctx, b, v)
		case []int64:
			col, err = upload(ctx, b, v)
		case []float64:
			col, err = upload(ctx, b, v)
		default:
			err = fmt.Errorf("column %s of a %T", c.name, v)
		}
		if err != nil {
			for _, m := range made {
				m.Release()
			}
			return nil, err
		}
		fields, made, rows = append(fields, arrow.Field{Name: c.name, Type: col.Type()}), append(made, col), col.Len()
	}
	schema := arrow.NewSchema(fields, nil)
	batch, err := table.NewBatch(schema, rows, made)
	if err != nil {
		return nil, err
	}
	return table.NewTable(b, schema, []*table.Batch{batch})
}

// each calls f with the values of a column of a table, chunk by chunk.
func each[T number](t *table.Table, column int, f func(T)) error {
	b := t.Backend()
	s, err := b.NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	for _, chunk := range t.Chunks() {
		c, err := b.OnHost(context.Background(), s, chunk.Column(column))
		if err != nil {
			return err
		}
		if err = eachValue(c, f); err != nil {
			err = fmt.Errorf("column %d %w", column, err)
		}
		c.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// eachValue calls f with the values of a column on the host.
func eachValue[T number](c *memory.Column, f func(T)) error {
	if c.NullCount() > 0 {
		return fmt.Errorf("has %d nulls where there are none in the input", c.NullCount())
	}
	if !arrow.TypeEqual(c.Type(), typeOf[T]()) {
		return fmt.Errorf("is of type %s", c.Type())
	}
	for _, v := range memory.Values[T](c) {
		f(v)
	}
	return nil
}
