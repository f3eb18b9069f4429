package main

// #include "base.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/dataloader"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// DLPack's codes of types.
const (
	dlInt   = 0
	dlUint  = 1
	dlFloat = 2
	dlBrain = 4
	dlBool  = 6
)

// dlType is how DLPack names a type.
type dlType struct{ code, bits uint8 }

var dlTypes = map[arrow.Type]dlType{
	arrow.INT8: {dlInt, 8}, arrow.INT16: {dlInt, 16}, arrow.INT32: {dlInt, 32}, arrow.INT64: {dlInt, 64},
	arrow.UINT8: {dlUint, 8}, arrow.UINT16: {dlUint, 16}, arrow.UINT32: {dlUint, 32}, arrow.UINT64: {dlUint, 64},
	arrow.FLOAT16: {dlFloat, 16}, arrow.FLOAT32: {dlFloat, 32}, arrow.FLOAT64: {dlFloat, 64},
}

var dlArrow = map[dlType]arrow.DataType{
	{dlInt, 8}: arrow.PrimitiveTypes.Int8, {dlInt, 16}: arrow.PrimitiveTypes.Int16, {dlInt, 32}: arrow.PrimitiveTypes.Int32,
	{dlInt, 64}: arrow.PrimitiveTypes.Int64, {dlUint, 8}: arrow.PrimitiveTypes.Uint8, {dlUint, 16}: arrow.PrimitiveTypes.Uint16,
	{dlUint, 32}: arrow.PrimitiveTypes.Uint32, {dlUint, 64}: arrow.PrimitiveTypes.Uint64, {dlFloat, 16}: arrow.FixedWidthTypes.Float16,
	{dlFloat, 32}: arrow.PrimitiveTypes.Float32, {dlFloat, 64}: arrow.PrimitiveTypes.Float64,
}

// tensor is an imported tensor: shape and strides in elements. Of a device's memory data is what stands at its beginning, an address or a cl_mem,
// and offset the bytes from there to the first element; of the host's data is the address of that.
type tensor struct {
	typ            arrow.DataType // nil for bools of a byte each
	shape, strides []int64
	place          memory.Place
	data           unsafe.Pointer
	offset         int64
	from           *foreign
}

// anyShape stands for any number of dimensions, and for bfloat16 beside Arrow's types.
const anyShape = -1

// importTensor moves a managed tensor of the given number of dimensions. It is deleted when nothing refers to it any more; an error deletes it.
func importTensor(p unsafe.Pointer, versioned bool, ndim int32) (_ *tensor, err error) {
	if p == nil {
		return nil, mismatch("the tensor is NULL")
	}
	var t *C.vly_dl_tensor
	var deleter unsafe.Pointer
	if versioned {
		v := (*C.vly_dl_versioned)(p)
		t, deleter = &v.tensor, v.deleter
		if v.major != 1 {
			err = device.Errorf(device.ErrUnsupported, "", "dlpack", "a tensor of DLPack version %d.%d", int(v.major), int(v.minor))
			t = nil // only the deleter is where every version has it
		}
	} else {
		m := (*C.vly_dl_managed)(p)
		t, deleter = &m.tensor, m.deleter
	}
	from := borrow(func() {
		if deleter != nil {
			C.vly_call_deleter(deleter, p)
		}
	})
	var made *tensor
	if err == nil {
		made, err = readTensor(t, ndim)
	}
	if err != nil {
		from.drop()
		return nil, err
	}
	made.from = from
	return made, nil
}

func readTensor(t *C.vly_dl_tensor, ndim int32) (*tensor, error) {
	place, err := placeOf(int64(t.device._type), int64(t.device.id))
	if err != nil {
		return nil, err
	}
	any := ndim == anyShape
	if any && t.ndim >= 0 && t.ndim <= 64 {
		ndim = int32(t.ndim)
	}
	if int32(t.ndim) != ndim {
		return nil, mismatch("a tensor of %d dimensions, not %d", int(t.ndim), ndim)
	}
	if t.lanes != 1 || t.shape == nil && ndim > 0 {
		return nil, mismatch("a tensor of %d lanes or without a shape", int(t.lanes))
	}
	made := &tensor{place: place, shape: make([]int64, ndim), strides: make([]int64, ndim)}
	key := dlType{uint8(t.code), uint8(t.bits)}
	made.typ = dlArrow[key]
	if any && key == (dlType{dlBrain, 16}) {
		made.typ = dataloader.BFloat16
	}
	if made.typ == nil && key != (dlType{dlBool, 8}) {
		return nil, device.Errorf(device.ErrUnsupported, "", "dlpack", "a tensor of type code %d and %d bits", key.code, key.bits)
	}
	elements := int64(1)
	for i := int(ndim) - 1; i >= 0; i-- {
		n := int64(unsafe.Slice(t.shape, ndim)[i])
		if n < 0 || n > 0 && elements > (1<<44)/n {
			return nil, mismatch("a tensor of %d elements in dimension %d", n, i)
		}
		made.shape[i], made.strides[i] = n, elements
		if t.strides != nil {
			made.strides[i] = int64(unsafe.Slice(t.strides, ndim)[i])
		}
		elements *= n
	}
	if elements > 0 && t.data == nil {
		return nil, mismatch("a tensor of %d elements whose data is NULL", elements)
	}
	switch {
	case elements == 0: // wherever it is said to be
	case place.HostAccessible():
		made.data = unsafe.Add(t.data, uintptr(t.byte_offset))
	case t.byte_offset > 1<<47 || made.typ != nil && int64(t.byte_offset)%int64(memory.Width(made.typ)) != 0:
		return nil, mismatch("a tensor whose first element is at byte %d of its memory", uint64(t.byte_offset))
	default:
		made.data, made.offset = t.data, int64(t.byte_offset)
	}
	return made, nil
}

// column is a one-dimensional tensor as a column: a copy where its values do not stand side by side, or are bools.
func (t *tensor) column() (*memory.Column, error) {
	n := t.shape[0]
	if !t.place.HostAccessible() {
		return t.onDevice()
	}
	typ := t.typ
	if typ == nil {
		typ = arrow.FixedWidthTypes.Boolean
	}
	parts := memory.Parts{Type: typ, Len: n, Buffers: []*memory.Buffer{nil, nil}, Place: memory.Host}
	var err error
	switch width := int64(memory.Width(typ)); {
	case t.typ == nil:
		if parts.Buffers[1], err = memory.NewZeroed(memory.Heap, memory.BitmapBytes(n)); err == nil {
			bits := memory.Bitmap(parts.Buffers[1].Bytes())
			for i := range n {
				bits.Put(i, *(*byte)(unsafe.Add(t.data, i*t.strides[0])) != 0)
			}
		}
	case t.strides[0] == 1 || n <= 1:
		parts.Buffers[1], err = t.from.buffer(uintptr(t.data), n*width, int(width))
	default:
		if parts.Buffers[1], err = memory.New(memory.Heap, n*width); err == nil {
			gather(parts.Buffers[1].Bytes(), t.data, n, t.strides[0]*width, width)
		}
	}
	if err != nil {
		return nil, err
	}
	return memory.NewColumn(parts)
}

// memory is the device's memory of so many elements from the first of the tensor on, and the number of the first therein.
func (t *tensor) memory(elements int64) (*memory.Buffer, int64, error) {
	at, err := reach(context.Background(), t.place)
	if err != nil {
		return nil, 0, err
	}
	defer at.close()
	width := int64(memory.Width(t.typ))
	b, err := at.buffer(t.from, uintptr(t.data), t.offset+elements*width, int(width))
	return b, t.offset / width, err
}

// onDevice is a tensor in a device's memory as a column there.
func (t *tensor) onDevice() (*memory.Column, error) {
	n := t.shape[0]
	if t.typ == nil || t.strides[0] != 1 && n > 1 {
		return nil, device.Errorf(device.ErrUnsupported, t.place.String(), "dlpack", "a tensor with strides, or of bools: make it contiguous, or of uint8")
	}
	b, first, err := t.memory(n)
	if err != nil {
		return nil, err
	}
	return memory.NewColumn(memory.Parts{Type: t.typ, Len: n, Offset: first, Buffers: []*memory.Buffer{nil, b}, Place: t.place})
}

// gather copies n values of width bytes that stand step bytes apart.
func gather(to []byte, from unsafe.Pointer, n, step, width int64) {
	for i := range n {
		copy(to[i*width:(i+1)*width], unsafe.Slice((*byte)(unsafe.Add(from, i*step)), width))
	}
}

func columnFromTensor(name string, p unsafe.Pointer, versioned bool, out *C.uintptr_t) C.int32_t {
	return call(name, func() error {
		t, err := importTensor(p, versioned, 1)
		if err != nil {
			return err
		}
		defer t.from.drop()
		c, err := t.column()
		if err != nil {
			return err
		}
		b, err := home(c.Place())
		if err != nil {
			c.Release()
			return err
		}
		*out = register(&columnObject{c: c, b: b})
		return nil
	})
}

//export go_volley_column_from_dlpack
func go_volley_column_from_dlpack(p unsafe.Pointer, out *C.uintptr_t) C.int32_t {
	return columnFromTensor("volley_column_from_dlpack", p, false, out)
}

//export go_volley_column_from_dlpack_versioned
func go_volley_column_from_dlpack_versioned(p unsafe.Pointer, out *C.uintptr_t) C.int32_t {
	return columnFromTensor("volley_column_from_dlpack_versioned", p, true, out)
}

// newTensor makes a managed tensor of memory that release gives back.
func newTensor(versioned bool, typ arrow.DataType, b *memory.Buffer, offset int64, shape, strides []int64, release func()) (unsafe.Pointer, error) {
	flag := C.int(0)
	if versioned {
		flag = 1
	}
	e := &exported{release: release}
	h := register(e)
	p := C.vly_new_tensor(flag, C.int32_t(len(shape)), h)
	if p == nil {
		go_volley_forget(h)
		return nil, device.Errorf(device.ErrOutOfMemory, "", "calloc", "a tensor")
	}
	t := &(*C.vly_dl_managed)(p).tensor
	if versioned {
		v := (*C.vly_dl_versioned)(p)
		v.minor = 1
		t = &v.tensor
	}
	name := dlTypes[typ.ID()]
	if typ == dataloader.BFloat16 { // which is no type of Arrow's
		name = dlType{dlBrain, 16}
	}
	t.code, t.bits = C.uint8_t(name.code), C.uint8_t(name.bits)
	t.byte_offset = C.uint64_t(offset * int64(memory.Width(typ)))
	if place := b.Place(); place.HostAccessible() {
		t.data = e.pin(b)
	} else {
		at, more := deviceAddress(b)
		putAddress(&t.data, at)
		t.byte_offset += C.uint64_t(more)
		t.device._type, t.device.id = C.int32_t(place.Type), C.int32_t(place.ID)
	}
	if b.Len() == 0 {
		t.byte_offset = 0
	}
	for i := range shape {
		unsafe.Slice(t.shape, len(shape))[i] = C.int64_t(shape[i])
		unsafe.Slice(t.strides, len(shape))[i] = C.int64_t(strides[i])
	}
	return p, nil
}

func columnToTensor(name string, h C.uintptr_t, versioned bool, out *unsafe.Pointer) C.int32_t {
	return call(name, func() error {
		return with("column", h, func(o *columnObject) error {
			if _, ok := dlTypes[o.c.Type().ID()]; !ok {
				return device.Errorf(device.ErrUnsupported, "", "dlpack", "a column of %s: tensors are of numbers", o.c.Type())
			}
			ctx := context.Background()
			if err := o.at.wait(ctx); err != nil {
				return err
			}
			n, err := o.nulls(ctx)
			if err != nil {
				return err
			}
			if n > 0 {
				return fmt.Errorf("%w: a column with %d nulls: tensors have none; fill them first", device.ErrUnsupported, n)
			}
			c := o.c.Retain()
			p, err := newTensor(versioned, c.Type(), c.Buffer(1), c.Offset(), []int64{c.Len()}, []int64{1}, c.Release)
			*out = p
			return err
		})
	})
}

//export go_volley_column_to_dlpack
func go_volley_column_to_dlpack(h C.uintptr_t, out *unsafe.Pointer) C.int32_t {
	return columnToTensor("volley_column_to_dlpack", h, false, out)
}

//export go_volley_column_to_dlpack_versioned
func go_volley_column_to_dlpack_versioned(h C.uintptr_t, out *unsafe.Pointer) C.int32_t {
	return columnToTensor("volley_column_to_dlpack_versioned", h, true, out)
}
