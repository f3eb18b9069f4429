package main

// #include "base.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/ondevice"
	"github.com/volley-go/volley/dataloader"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// vectorObject is elements in a device's memory that collective operations read and write, and the backend whose memory it is: nil for the host's.
// at is where the work of a stream that makes them is done.
type vectorObject struct {
	v        ondevice.Vector
	b        *kernels.Backend
	at       *moment
	readOnly bool
}

func (o *vectorObject) hold() {
	o.v.Buffer.Retain()
	o.at.hold()
}

func (o *vectorObject) drop() {
	o.v.Buffer.Release()
	o.at.drop()
}

func (*vectorObject) kind() string { return "vector" }

// elements are the types of vectors that are Arrow's. The halves with a float32's exponent have a type of the loader's.
var elements = map[collective.Type]arrow.DataType{
	collective.Int8: arrow.PrimitiveTypes.Int8, collective.Int16: arrow.PrimitiveTypes.Int16, collective.Int32: arrow.PrimitiveTypes.Int32,
	collective.Int64: arrow.PrimitiveTypes.Int64, collective.Uint8: arrow.PrimitiveTypes.Uint8, collective.Uint16: arrow.PrimitiveTypes.Uint16,
	collective.Uint32: arrow.PrimitiveTypes.Uint32, collective.Uint64: arrow.PrimitiveTypes.Uint64, collective.Float16: arrow.FixedWidthTypes.Float16,
	collective.Float32: arrow.PrimitiveTypes.Float32, collective.Float64: arrow.PrimitiveTypes.Float64,
}

// elementsOf is the type of a vector of Arrow's type.
func elementsOf(t arrow.DataType) (collective.Type, error) {
	if t == dataloader.BFloat16 {
		return collective.BFloat16, nil
	}
	for own, arrows := range elements {
		if t != nil && arrows.ID() == t.ID() {
			return own, nil
		}
	}
	if t == nil {
		return 0, mismatch("a vector of bool: int8 to uint64, float16, bfloat16, float32 and float64 are types of elements")
	}
	return 0, mismatch("a vector of %s: int8 to uint64, float16, bfloat16, float32 and float64 are types of elements", nameOf(t))
}

//export go_volley_vector_new
func go_volley_vector_new(d C.uintptr_t, typ *C.char, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return call("volley_vector_new", func() error {
		t, err := elementType("type", typ)
		if err != nil {
			return err
		}
		if n < 0 || n > 1<<44 {
			return mismatch("count is %d", int64(n))
		}
		b, err := backend(d)
		if err != nil {
			return err
		}
		m, err := memory.New(b.Device.Memory(), int64(n)*int64(t.Width()))
		if err != nil {
			return err
		}
		o := &vectorObject{v: ondevice.Vector{Buffer: m, Type: t, Len: int64(n)}, b: b}
		if m.Place().HostAccessible() {
			o.b = nil
		}
		*out = register(o)
		return nil
	})
}

//export go_volley_vector_from_column
func go_volley_vector_from_column(h C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return call("volley_vector_from_column", func() error {
		return with("column", h, func(o *columnObject) error {
			t, err := elementsOf(o.c.Type())
			if err != nil {
				return err
			}
			n, err := o.nulls(context.Background())
			if err != nil {
				return err
			}
			if n > 0 {
				return mismatch("a column with %d nulls as a vector: vectors have none; fill them first", n)
			}
			o.at.hold()
			v := ondevice.Vector{Buffer: o.c.Buffer(1).Retain(), Type: t, Offset: o.c.Offset(), Len: o.c.Len()}
			*out = register(&vectorObject{v: v, b: o.b, at: o.at, readOnly: true})
			return nil
		})
	})
}

// vector is a tensor of any shape as a vector of its own memory: its elements stand side by side, row by row.
func (t *tensor) vector() (v ondevice.Vector, err error) {
	if v.Type, err = elementsOf(t.typ); err != nil {
		return v, err
	}
	v.Len = 1
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] > 1 && t.strides[i] != v.Len {
			return v, device.Errorf(device.ErrUnsupported, t.place.String(), "dlpack", "a tensor with strides: make it contiguous")
		}
		v.Len *= t.shape[i]
	}
	width := v.Type.Width()
	if !t.place.HostAccessible() {
		v.Buffer, v.Offset, err = t.memory(v.Len)
		return v, err
	}
	if uintptr(t.data)%uintptr(width) != 0 {
		return v, mismatch("a tensor at %#x, which is not a multiple of %d", uintptr(t.data), width)
	}
	v.Buffer, err = t.from.buffer(uintptr(t.data), v.Len*int64(width), width)
	return v, err
}

func vectorFromTensor(name string, p unsafe.Pointer, versioned bool, out *C.uintptr_t) C.int32_t {
	return call(name, func() error {
		readOnly := p != nil && versioned && (*C.vly_dl_versioned)(p).major == 1 && (*C.vly_dl_versioned)(p).flags&1 != 0
		t, err := importTensor(p, versioned, anyShape)
		if err != nil {
			return err
		}
		defer t.from.drop()
		v, err := t.vector()
		if err != nil {
			return err
		}
		b, err := home(v.Buffer.Place())
		if err != nil {
			v.Buffer.Release()
			return err
		}
		*out = register(&vectorObject{v: v, b: b, readOnly: readOnly})
		return nil
	})
}

//export go_volley_vector_from_dlpack
func go_volley_vector_from_dlpack(p unsafe.Pointer, out *C.uintptr_t) C.int32_t {
	return vectorFromTensor("volley_vector_from_dlpack", p, false, out)
}

//export go_volley_vector_from_dlpack_versioned
func go_volley_vector_from_dlpack_versioned(p unsafe.Pointer, out *C.uintptr_t) C.int32_t {
	return vectorFromTensor("volley_vector_from_dlpack_versioned", p, true, out)
}

//export go_volley_vector_to_column
func go_volley_vector_to_column(h C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return call("volley_vector_to_column", func() error {
		return with("vector", h, func(o *vectorObject) error {
			t := elements[o.v.Type]
			if t == nil {
				return device.Errorf(device.ErrUnsupported, "", "vector", "a column of %s", o.v.Type)
			}
			buffers := []*memory.Buffer{nil, o.v.Buffer.Retain()}
			c, err := memory.NewColumn(memory.Parts{Type: t, Len: o.v.Len, Offset: o.v.Offset, Buffers: buffers, Place: o.v.Buffer.Place()})
			if err != nil {
				return err
			}
			o.at.hold()
			*out = register(&columnObject{c, o.b, o.at})
			return nil
		})
	})
}

//export go_volley_vector_length
func go_volley_vector_length(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return call("volley_vector_length", func() error {
		return with("vector", h, func(o *vectorObject) error {
			*out = C.int64_t(o.v.Len)
			return nil
		})
	})
}

//export go_volley_vector_free
func go_volley_vector_free(h C.uintptr_t) C.int32_t {
	return free[*vectorObject]("volley_vector_free", h)
}
