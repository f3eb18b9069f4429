package dataloader

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
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
	Type                    arrow.DataType // a number, a float16 or BFloat16
	Rows, Columns           int64
	RowStride, ColumnStride int64 // in elements
	// Steps is, of windows over a time series, how many steps each row has: the
	// element of step s is StepStride·s elements further. Else it is 0.
	Steps, StepStride int64
	// Offsets are, of lists, where those of each row begin among all, and behind
	// the last how many there are: row i has Offsets[i+1]-Offsets[i] items. Padded
	// they are the first elements of the row, ragged they follow each other and the
	// tensor is of one dimension. Else it is nil.
	Offsets []int64
	Data    []byte // the elements, aligned to memory.Alignment
	// Valid has an element of one byte for each of Data, with the same strides:
	// 0 where the value is null, whose element is then 0, else 1. It is nil where
	// the loader was not asked for masks.
	Valid []byte
}

// Shape is the lengths of the dimensions: rows and columns, and of windows the
// steps between them. A ragged tensor has one dimension, of all items.
func (t Tensor) Shape() []int64 {
	switch {
	case t.Offsets != nil && t.Columns == 0:
		return []int64{t.Offsets[t.Rows]}
	case t.Steps > 0:
		return []int64{t.Rows, t.Steps, t.Columns}
	}
	return []int64{t.Rows, t.Columns}
}

// Elements are the elements of a tensor as a slice, without a copy: of float16
// and BFloat16 their bits as uint16. A type other than the tensor's is an
// ErrMismatch.
func Elements[T Element](t Tensor) ([]T, error) {
	if want := typeOf[T](); isHalf(t.Type) && want.ID() == arrow.UINT16 {
		return view[T](t.Data), nil
	}
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
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64, arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64:
		return t
	}
	return nil
}
