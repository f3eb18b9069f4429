package table

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Series is a column of Go values with a name, for New. It is a value: Valid
// and Of give changed copies.
type Series struct {
	name   string
	values any
	valid  []bool
	typ    arrow.DataType
}

// Column is a column of a Go slice: of bools, signed or unsigned integers,
// floats, strings, []byte, time.Time (timestamp[us, tz=UTC]) or time.Duration
// (duration[ns]); or a *memory.Column, of which the table takes a reference.
func Column(name string, values any) Series { return Series{name: name, values: values} }

// Valid says which values are there: where valid is false the value is null.
func (s Series) Valid(valid []bool) Series {
	s.valid = valid
	return s
}

// Of gives the values another type of the same width: int32 as date32, say.
func (s Series) Of(t arrow.DataType) Series {
	s.typ = t
	return s
}

// New makes a table of columns of one length. Slices of numbers and durations
// are not copied: the table reads the slice, which must not be changed while
// the table lives. Others are copied, and all are where the backend is not on the
// host: they are on its device when New returns.
func New(b *kernels.Backend, columns ...Series) (*Table, error) {
	alloc := b.Device.Memory()
	if !alloc.Place().HostAccessible() {
		alloc = b.Device.Pinned()
	}
	var fields []arrow.Field
	var made []*memory.Column
	rows := int64(0)
	for i, s := range columns {
		c, err := s.column(alloc)
		if err == nil && i > 0 && c.Len() != rows {
			err = fmt.Errorf("%w: %d rows where column %q has %d", device.ErrMismatch, c.Len(), columns[0].name, rows)
			c.Release()
		}
		if err != nil {
			releaseColumns(made)
			return nil, fmt.Errorf("column %q: %w", s.name, err)
		}
		rows = c.Len()
		made = append(made, c)
		fields = append(fields, arrow.Field{Name: s.name, Type: c.Type(), Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	batch, err := NewBatch(schema, rows, made)
	if err != nil {
		return nil, err
	}
	return tableOnDevice(b, schema, []*Batch{batch})
}

// tableOnDevice is NewTable of chunks on the host or on the backend's device,
// which are moved there.
func tableOnDevice(b *kernels.Backend, schema *arrow.Schema, chunks []*Batch) (*Table, error) {
	t, err := NewTable(b, schema, chunks)
	if err != nil {
		return nil, err
	}
	return t.onDevice(context.Background())
}

// column lays the values out as Arrow does.
func (s Series) column(a memory.Allocator) (*memory.Column, error) {
	if c, ok := s.values.(*memory.Column); ok {
		return s.typed(c.Retain())
	}
	p, err := partsOf(a, s.values)
	if err != nil {
		return nil, err
	}
	if s.valid != nil {
		err = s.validity(a, &p)
	}
	if err != nil {
		for _, b := range p.Buffers {
			b.Release()
		}
		return nil, err
	}
	c, err := memory.NewColumn(p)
	if err != nil {
		return nil, err
	}
	return s.typed(c)
}

func (s Series) typed(c *memory.Column) (*memory.Column, error) {
	if s.typ == nil {
		return c, nil
	}
	defer c.Release()
	return c.WithType(s.typ)
}

func (s Series) validity(a memory.Allocator, p *memory.Parts) error {
	if int64(len(s.valid)) != p.Len {
		return fmt.Errorf("%w: %d marks of validity for %d values", device.ErrMismatch, len(s.valid), p.Len)
	}
	bits, err := memory.NewZeroed(a, memory.BitmapBytes(p.Len))
	if err != nil {
		return err
	}
	for i, v := range s.valid {
		if v {
			memory.Bitmap(bits.Bytes()).Set(int64(i))
		} else {
			p.Nulls++
		}
	}
	p.Buffers[0] = bits
	return nil
}

// fixedParts shows a slice of numbers as a column, without a copy.
func fixedParts[T any](t arrow.DataType, values []T) memory.Parts {
	var zero T
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(zero)))
	return memory.Parts{Type: t, Len: int64(len(values)), Buffers: []*memory.Buffer{nil, memory.Wrap(bytes, nil)}}
}

func partsOf(a memory.Allocator, values any) (memory.Parts, error) {
	switch v := values.(type) {
	case []int8:
		return fixedParts(arrow.PrimitiveTypes.Int8, v), nil
	case []int16:
		return fixedParts(arrow.PrimitiveTypes.Int16, v), nil
	case []int32:
		return fixedParts(arrow.PrimitiveTypes.Int32, v), nil
	case []int64:
		return fixedParts(arrow.PrimitiveTypes.Int64, v), nil
	case []int:
		if unsafe.Sizeof(int(0)) == 4 {
			return fixedParts(arrow.PrimitiveTypes.Int32, v), nil
		}
		return fixedParts(arrow.PrimitiveTypes.Int64, v), nil
	case []uint8:
		return fixedParts(arrow.PrimitiveTypes.Uint8, v), nil
	case []uint16:
		return fixedParts(arrow.PrimitiveTypes.Uint16, v), nil
	case []uint32:
		return fixedParts(arrow.PrimitiveTypes.Uint32, v), nil
	case []uint64:
		return fixedParts(arrow.PrimitiveTypes.Uint64, v), nil
	case []float32:
		return fixedParts(arrow.PrimitiveTypes.Float32, v), nil
	case []float64:
		return fixedParts(arrow.PrimitiveTypes.Float64, v), nil
	case []time.Duration:
		return fixedParts(arrow.FixedWidthTypes.Duration_ns, v), nil
	case []bool:
		return bitParts(a, v)
	case []time.Time:
		micros := make([]int64, len(v))
		for i, t := range v {
			micros[i] = t.UnixMicro()
		}
		return fixedParts(arrow.FixedWidthTypes.Timestamp_us, micros), nil
	case []string:
		return textParts(a, arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, v)
	case [][]byte:
		return textParts(a, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, v)
	default:
		return memory.Parts{}, fmt.Errorf("%w: a column of a %T", errUnsupported, values)
	}
}

func bitParts(a memory.Allocator, values []bool) (memory.Parts, error) {
	n := int64(len(values))
	bits, err := memory.NewZeroed(a, memory.BitmapBytes(n))
	if err != nil {
		return memory.Parts{}, err
	}
	for i, v := range values {
		if v {
			memory.Bitmap(bits.Bytes()).Set(int64(i))
		}
	}
	return memory.Parts{Type: arrow.FixedWidthTypes.Boolean, Len: n, Buffers: []*memory.Buffer{nil, bits}}, nil
}

// textParts copies texts; past 2 GiB the offsets are those of the large type.
func textParts[T string | []byte](a memory.Allocator, t, large arrow.DataType, values []T) (memory.Parts, error) {
	var sum int64
	for _, v := range values {
		sum += int64(len(v))
	}
	width := int64(4)
	if sum > 1<<31-1 {
		width, t = 8, large
	}
	offsets, err := memory.NewZeroed(a, width*int64(len(values)+1))
	if err != nil {
		return memory.Parts{}, err
	}
	data, err := memory.New(a, sum)
	if err != nil {
		offsets.Release()
		return memory.Parts{}, err
	}
	at := int64(0)
	for i, v := range values {
		at += int64(copy(data.Bytes()[at:], v))
		if width == 8 {
			memory.View[int64](offsets)[i+1] = at
		} else {
			memory.View[int32](offsets)[i+1] = int32(at)
		}
	}
	return memory.Parts{Type: t, Len: int64(len(values)), Buffers: []*memory.Buffer{nil, offsets, data}}, nil
}
