package dataloader

import (
	"math"
	"reflect"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
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
			d[at] = brainBits(x)
		} else {
			d[at] = float16.New(x).Uint16()
		}
		at += step
	}
}

// mark writes zeros, which are all bits zero.
func (h *halves) mark(dst, valid []byte, at, step int64, rows []int64, chunk []int32) {
	mark[uint16](h.nulls(), dst, valid, at, step, rows, chunk)
}

// brainBits rounds to the upper half of a float32.
func brainBits(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
