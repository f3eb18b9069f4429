package dataloader

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// blockRows is how many rows are worked on at a time: their part of a row-major
// tensor of some dozens of columns stays in the first-level cache while column
// after column is put in, and their loads, which do not wait for each other, are
// more than a processor can have under way.
const blockRows = 256

// gatherer reads one column of a table. Rows are given by their place in a
// chunk; chunk is nil where there is one chunk.
type gatherer interface {
	// gather writes values to the elements at, at+step, … of dst.
	gather(dst []byte, at, step int64, rows []int64, chunk []int32)
	// mark writes 0 to the elements of dst, and of valid unless that is nil, whose
	// values are null.
	mark(dst, valid []byte, at, step int64, rows []int64, chunk []int32)
	// fits is an error that names the first row whose value the elements' type
	// cannot hold.
	fits(ctx context.Context, name string) error
	// nulls says which values are null.
	nulls() *nullable
}

// nullable says which values of a column are null.
type nullable struct {
	bitmaps []memory.Bitmap // a chunk each, nil where there are none; nil where there are none at all
	offsets []int64
}

func newNullable(t *table.Table, column int) nullable {
	var n nullable
	for i, b := range t.Chunks() {
		c := b.Column(column)
		if v := c.Validity(); v != nil {
			if n.bitmaps == nil {
				n.bitmaps, n.offsets = make([]memory.Bitmap, len(t.Chunks())), make([]int64, len(t.Chunks()))
			}
			n.bitmaps[i], n.offsets[i] = v, c.Offset()
		}
	}
	return n
}

func (n *nullable) nulls() *nullable { return n }

func (n *nullable) null(chunk int, row int64) bool {
	return n.bitmaps != nil && n.bitmaps[chunk] != nil && !n.bitmaps[chunk].Get(n.offsets[chunk]+row)
}

// values are a column of numbers S, read as T.
type values[S, T Element] struct {
	nullable
	chunks [][]S
}

func (v *values[S, T]) gather(dst []byte, at, step int64, rows []int64, chunk []int32) {
	d := view[T](dst)[at:]
	if chunk == nil {
		src := v.chunks[0]
		if step == 1 {
			d = d[:len(rows)]
			for i, r := range rows {
				d[i] = T(src[r])
			}
			return
		}
		k := int64(0)
		for _, r := range rows {
			d[k] = T(src[r])
			k += step
		}
		return
	}
	k := int64(0)
	for i, r := range rows {
		d[k] = T(v.chunks[chunk[i]][r])
		k += step
	}
}

func (n *nullable) at(i int, rows []int64, chunk []int32) bool {
	if chunk == nil {
		return n.null(0, rows[i])
	}
	return n.null(int(chunk[i]), rows[i])
}

func (v *values[S, T]) mark(dst, valid []byte, at, step int64, rows []int64, chunk []int32) {
	mark[T](&v.nullable, dst, valid, at, step, rows, chunk)
}

func mark[T Element](n *nullable, dst, valid []byte, at, step int64, rows []int64, chunk []int32) {
	if n.bitmaps == nil {
		return
	}
	d := view[T](dst)
	for i := range rows {
		if k := at + int64(i)*step; n.at(i, rows, chunk) {
			d[k] = 0
			if valid != nil {
				valid[k] = 0
			}
		}
	}
}

func (v *values[S, T]) fits(ctx context.Context, name string) error {
	first := int64(0)
	for c, chunk := range v.chunks {
		for i, x := range chunk {
			if i&0xfffff == 0 {
				if err := device.Canceled(ctx, "", "dataloader"); err != nil {
					return err
				}
			}
			if y := T(x); (S(y) != x || (y < 0) != (x < 0)) && !v.null(c, int64(i)) {
				return device.Errorf(device.ErrValue, "", "dataloader", "row %d of column %q is %v, which %v cannot hold", first+int64(i), name, x, typeOf[T]())
			}
		}
		first += int64(len(chunk))
	}
	return nil
}

// bools are a column of bits, read as the numbers 0 and 1.
type bools[T Element] struct {
	nullable
	bits   []memory.Bitmap
	starts []int64
}

func (b *bools[T]) gather(dst []byte, at, step int64, rows []int64, chunk []int32) {
	d := view[T](dst)
	for i, r := range rows {
		c := int32(0)
		if chunk != nil {
			c = chunk[i]
		}
		x := T(0)
		if b.bits[c].Get(b.starts[c] + r) {
			x = 1
		}
		d[at+int64(i)*step] = x
	}
}

func (b *bools[T]) mark(dst, valid []byte, at, step int64, rows []int64, chunk []int32) {
	mark[T](&b.nullable, dst, valid, at, step, rows, chunk)
}

func (b *bools[T]) fits(context.Context, string) error { return nil }

// newGatherer reads a column of a host table as elements of a type.
func newGatherer(t *table.Table, column int, to arrow.DataType) (gatherer, error) {
	f := t.Schema().Field(column)
	refuse := func(why string) (gatherer, error) {
		return nil, device.Errorf(device.ErrUnsupported, "", "dataloader", "column %q is of type %v%s", f.Name, f.Type, why)
	}
	if numberOf(f.Type) == nil {
		return refuse(", which is no number: cast it or encode it first, or leave it out")
	}
	if isHalf(to) && !(to.ID() == arrow.FLOAT16 && f.Type.ID() == arrow.FLOAT16) {
		inner, err := newGatherer(t, column, arrow.PrimitiveTypes.Float32)
		if err != nil {
			return nil, err
		}
		return &halves{inner, to == BFloat16}, nil
	}
	if arrow.IsFloating(f.Type.ID()) && !arrow.IsFloating(to.ID()) {
		return refuse(fmt.Sprintf(", which is not cut to %v: cast it first", to))
	}
	switch f.Type.ID() {
	case arrow.BOOL:
		return boolsTo(t, column, to)
	case arrow.INT8:
		return valuesTo[int8](t, column, to)
	case arrow.INT16:
		return valuesTo[int16](t, column, to)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return valuesTo[int32](t, column, to)
	case arrow.UINT8:
		return valuesTo[uint8](t, column, to)
	case arrow.UINT16:
		return valuesTo[uint16](t, column, to)
	case arrow.UINT32:
		return valuesTo[uint32](t, column, to)
	case arrow.UINT64:
		return valuesTo[uint64](t, column, to)
	case arrow.FLOAT16:
		return halvesTo(t, column, to)
	case arrow.FLOAT32:
		return valuesTo[float32](t, column, to)
	case arrow.FLOAT64:
		return valuesTo[float64](t, column, to)
	default:
		return valuesTo[int64](t, column, to)
	}
}

func valuesTo[S Element](t *table.Table, column int, to arrow.DataType) (gatherer, error) {
	var chunks [][]S
	for _, b := range t.Chunks() {
		chunks = append(chunks, memory.Values[S](b.Column(column)))
	}
	n := newNullable(t, column)
	switch {
	case to.ID() == typeOf[S]().ID():
		return &values[S, S]{n, chunks}, nil
	case to.ID() == arrow.FLOAT32:
		return &values[S, float32]{n, chunks}, nil
	case to.ID() == arrow.FLOAT64:
		return &values[S, float64]{n, chunks}, nil
	case to.ID() == arrow.INT32:
		return &values[S, int32]{n, chunks}, nil
	case to.ID() == arrow.INT64:
		return &values[S, int64]{n, chunks}, nil
	}
	return nil, unsupportedType(to)
}

func boolsTo(t *table.Table, column int, to arrow.DataType) (gatherer, error) {
	var bits []memory.Bitmap
	var starts []int64
	for _, b := range t.Chunks() {
		bits, starts = append(bits, b.Column(column).Bits()), append(starts, b.Column(column).Offset())
	}
	n := newNullable(t, column)
	switch to.ID() {
	case arrow.UINT8:
		return &bools[uint8]{n, bits, starts}, nil
	case arrow.FLOAT32:
		return &bools[float32]{n, bits, starts}, nil
	case arrow.FLOAT64:
		return &bools[float64]{n, bits, starts}, nil
	case arrow.INT32:
		return &bools[int32]{n, bits, starts}, nil
	case arrow.INT64:
		return &bools[int64]{n, bits, starts}, nil
	}
	return nil, unsupportedType(to)
}

func unsupportedType(to arrow.DataType) error {
	return device.Errorf(device.ErrUnsupported, "", "dataloader", "tensors of %v: there are float16, bfloat16, float32, float64, int32 and int64", to)
}
