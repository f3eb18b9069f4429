package dataloader

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Element lists the types of a tensor's elements.
type Element interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Tensor is a matrix of one type in host memory: Rows by Columns elements. The
// element of row i and column j is number i·RowStride + j·ColumnStride. The rows
// are those of the batch, so a short batch is dense too.
//
// It is lent with the batch: what it points to is written anew after the batch
// was released.
type Tensor struct {
	Type                    arrow.DataType // a number
	Rows, Columns           int64
	RowStride, ColumnStride int64  // in elements
	Data                    []byte // the elements, aligned to memory.Alignment
	// Valid has an element of one byte for each of Data, with the same strides:
	// 0 where the value is null, whose element is then 0, else 1. It is nil where
	// the loader was not asked for masks.
	Valid []byte
}

// Elements are the elements of a tensor as a slice, without a copy. A type other
// than the tensor's is an ErrMismatch.
func Elements[T Element](t Tensor) ([]T, error) {
	if want := typeOf[T](); t.Type == nil || t.Type.ID() != want.ID() {
		return nil, device.Errorf(device.ErrMismatch, "", "dataloader.Elements", "the tensor is of %v, not of %v", t.Type, want)
	}
	return view[T](t.Data), nil
}

// view is bytes as elements.
func view[T Element](bytes []byte) []T {
	if len(bytes) == 0 {
		return nil
	}
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), len(bytes)/int(unsafe.Sizeof(t)))
}

// typeOf is the Arrow type of a Go type.
func typeOf[T Element]() arrow.DataType {
	var t T
	switch any(t).(type) {
	case int8:
		return arrow.PrimitiveTypes.Int8
	case int16:
		return arrow.PrimitiveTypes.Int16
	case int32:
		return arrow.PrimitiveTypes.Int32
	case int64:
		return arrow.PrimitiveTypes.Int64
	case uint8:
		return arrow.PrimitiveTypes.Uint8
	case uint16:
		return arrow.PrimitiveTypes.Uint16
	case uint32:
		return arrow.PrimitiveTypes.Uint32
	case uint64:
		return arrow.PrimitiveTypes.Uint64
	case float32:
		return arrow.PrimitiveTypes.Float32
	default:
		return arrow.PrimitiveTypes.Float64
	}
}

// numberOf is the type of number that the values of a column are: temporal
// types are the integers that they are held as, and bools are uint8. It is nil
// for types that are no numbers.
func numberOf(t arrow.DataType) arrow.DataType {
	switch t.ID() {
	case arrow.BOOL:
		return arrow.PrimitiveTypes.Uint8
	case arrow.DATE32, arrow.TIME32:
		return arrow.PrimitiveTypes.Int32
	case arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return arrow.PrimitiveTypes.Int64
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64, arrow.FLOAT32, arrow.FLOAT64:
		return t
	}
	return nil
}

// Part is a tensor that every batch has: which columns, and how they lie.
type Part struct {
	Columns     []int          // of the source, in the order of the tensor
	Type        arrow.DataType // of the elements
	ColumnMajor bool           // a column's elements follow each other, else a row's do
	Mask        bool           // with Valid
}

// bytes are the sizes of a part's elements and mask for so many rows.
func (p *Part) bytes(rows int64) (data, mask int64) {
	n := rows * int64(len(p.Columns))
	if p.Mask {
		mask = n
	}
	return n * p.width(), mask
}

// width is how many bytes an element has.
func (p *Part) width() int64 { return int64(memory.Width(p.Type)) }

// over is the tensor of so many rows over memory that has room for them.
func (p *Part) over(rows int64, data, valid []byte) Tensor {
	t := Tensor{Type: p.Type, Rows: rows, Columns: int64(len(p.Columns)), RowStride: int64(len(p.Columns)), ColumnStride: 1}
	if p.ColumnMajor {
		t.RowStride, t.ColumnStride = 1, rows
	}
	d, m := p.bytes(rows)
	t.Data = data[:d]
	if p.Mask {
		t.Valid = valid[:m]
	}
	return t
}

// is reports whether a tensor is one of so many rows of the part.
func (p *Part) is(t *Tensor, rows int64) bool {
	d, m := p.bytes(rows)
	if t.Type == nil || t.Type.ID() != p.Type.ID() || int64(len(t.Data)) != d || int64(len(t.Valid)) != m {
		return false
	}
	want := p.over(rows, t.Data, t.Valid)
	return t.Rows == rows && t.Columns == want.Columns && t.RowStride == want.RowStride && t.ColumnStride == want.ColumnStride
}
