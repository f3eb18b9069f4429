package dataloader

import (
	"context"
	"reflect"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/volley-go/volley/internal/float16"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// BFloat16 is the type of 16-bit floats with the exponent of a float32, which
// Arrow has not got. As Options.Type it makes tensors of it.
var BFloat16 arrow.DataType = &bfloat16{arrow.ExtensionBase{Storage: arrow.PrimitiveTypes.Uint16}}

type bfloat16 struct{ arrow.ExtensionBase }

// ArrayType is not used: there are no columns of the type.
func (*bfloat16) ArrayType() reflect.Type { return reflect.TypeFor[array.ExtensionArrayBase]() }

// ExtensionName names the type.
func (*bfloat16) ExtensionName() string { return "volley.bfloat16" }

// String names the type.
func (*bfloat16) String() string { return "bfloat16" }

// ExtensionEquals reports whether the other is the type too.
func (*bfloat16) ExtensionEquals(t arrow.ExtensionType) bool {
	return t.ExtensionName() == "volley.bfloat16"
}

// Serialize gives nothing: there are no parameters.
func (*bfloat16) Serialize() string { return "" }

// Deserialize gives the type.
func (b *bfloat16) Deserialize(arrow.DataType, string) (arrow.ExtensionType, error) { return b, nil }

// isHalf reports whether a type is one of the two of 16 bits.
func isHalf(t arrow.DataType) bool {
	return t != nil && (t.ID() == arrow.FLOAT16 || t == BFloat16)
}

// halves reads a column as float32 and rounds it to 16 bits, to the nearest, and
// of two such to the even one.
type halves struct {
	gatherer
	brain bool // bfloat16
}

// halfRoom is where float32 stand before they are rounded.
var halfRoom = sync.Pool{New: func() any { return new([blockRows]float32) }}

func (h *halves) gather(dst []byte, at, step int64, rows []int64, chunk []int32) {
	room := halfRoom.Get().(*[blockRows]float32)
	defer halfRoom.Put(room)
	h.gatherer.gather(unsafe.Slice((*byte)(unsafe.Pointer(room)), 4*blockRows), 0, 1, rows, chunk)
	d := view[uint16](dst)
	for _, x := range room[:len(rows)] {
		if h.brain {
			d[at] = float16.RoundBrain(x)
		} else {
			d[at] = float16.Round(x)
		}
		at += step
	}
}

// mark writes zeros, which are all bits zero.
func (h *halves) mark(dst, valid []byte, at, step int64, rows []int64, chunk []int32) {
	mark[uint16](h.nulls(), dst, valid, at, step, rows, chunk)
}

// widened are a column of float16, read as floats that hold each of its values.
type widened[T float32 | float64] struct {
	nullable
	chunks [][]uint16
}

func (w *widened[T]) gather(dst []byte, at, step int64, rows []int64, chunk []int32) {
	d := view[T](dst)
	for i, r := range rows {
		d[at] = T(float16.Widen(w.chunks[chunkOf(chunk, i)][r]))
		at += step
	}
}

func (w *widened[T]) mark(dst, valid []byte, at, step int64, rows []int64, chunk []int32) {
	mark[T](&w.nullable, dst, valid, at, step, rows, chunk)
}

func (w *widened[T]) fits(context.Context, string) error { return nil }

// halvesTo reads a column of float16 as floats of a type: as they are, or widened.
func halvesTo(t *table.Table, column int, to arrow.DataType) (gatherer, error) {
	var chunks [][]uint16
	for _, b := range t.Chunks() {
		chunks = append(chunks, memory.Values[uint16](b.Column(column)))
	}
	n := newNullable(t, column)
	switch to.ID() {
	case arrow.FLOAT16:
		return &values[uint16, uint16]{n, chunks}, nil
	case arrow.FLOAT32:
		return &widened[float32]{n, chunks}, nil
	case arrow.FLOAT64:
		return &widened[float64]{n, chunks}, nil
	}
	return nil, unsupportedType(to)
}
