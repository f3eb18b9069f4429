package main

// #include "base.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// wrapArray makes a column over a raw array. from is dropped with the column.
func wrapArray(a *C.volley_array, from *foreign) (*memory.Column, error) {
	name, err := text("type", a._type)
	if err != nil {
		return nil, err
	}
	t, err := typeNamed(name)
	if err != nil {
		return nil, err
	}
	layout := memory.LayoutOf(t)
	if layout == memory.LayoutNull || layout == memory.LayoutDictionary || layout >= memory.LayoutList {
		return nil, device.Errorf(device.ErrUnsupported, "", "wrap", "a raw array of %s: import it as an Arrow array", name)
	}
	if a.bit_offset < 0 || a.bit_offset > 1<<40 || a.length < 0 || a.length > 1<<44 {
		return nil, mismatch("an array of length %d from bit %d", int64(a.length), int64(a.bit_offset))
	}
	// As an Arrow array with an offset. Values, other than bits, begin before theirs by as much: nothing there is read.
	shift := int64(a.bit_offset)
	arrow := C.struct_ArrowArray{length: a.length, offset: a.bit_offset, null_count: -1, n_buffers: 2}
	back := func(p unsafe.Pointer, width int64) uintptr {
		if p == nil {
			return 0
		}
		return uintptr(p) - uintptr(shift*width)
	}
	if a.validity == nil {
		arrow.null_count = 0
	}
	buffers := [3]uintptr{uintptr(a.validity), uintptr(a.values), 0}
	switch layout {
	case memory.LayoutFixed:
		buffers[1] = back(a.values, int64(memory.Width(t)))
	case memory.LayoutBinary:
		buffers[1], buffers[2], arrow.n_buffers = back(a.offsets, 4), uintptr(a.values), 3
	case memory.LayoutLargeBinary:
		buffers[1], buffers[2], arrow.n_buffers = back(a.offsets, 8), uintptr(a.values), 3
	}
	list := (*[3]uintptr)(C.calloc(3, C.size_t(unsafe.Sizeof(buffers[0]))))
	own := (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
	if list == nil || own == nil {
		return nil, device.Errorf(device.ErrOutOfMemory, "", "calloc", "an array")
	}
	defer C.free(unsafe.Pointer(own))
	defer C.free(unsafe.Pointer(list))
	*list = buffers
	*own = arrow
	own.buffers = (*unsafe.Pointer)(unsafe.Pointer(list))
	own.release = (*[0]byte)(C.vly_call_release_array) // it has one, so it was not released; it is never called
	return importer{from, C.VOLLEY_VALIDATE_CHEAP, nil}.column(own, t, t)
}

//export go_volley_column_wrap
func go_volley_column_wrap(p *C.volley_array, release unsafe.Pointer, context C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return call("volley_column_wrap", func() error {
		from := borrow(func() {
			if release != nil {
				C.vly_call_release(release, context)
			}
		})
		defer from.drop()
		if p == nil {
			return mismatch("the array is NULL")
		}
		a, err := options("array", p)
		if err != nil {
			return err
		}
		c, err := wrapArray(a, from)
		if err != nil {
			return err
		}
		*out = register(&columnObject{c: c})
		return nil
	})
}

//export go_volley_column_view
func go_volley_column_view(h C.uintptr_t, out *C.volley_array) C.int32_t {
	return call("volley_column_view", func() error {
		if _, err := options("out", out); err != nil {
			return err
		}
		if out == nil || out.size < C.sizeof_volley_array {
			return mismatch("out is NULL, or its size is not set to sizeof")
		}
		return with("column", h, func(o *columnObject) error {
			layout := memory.LayoutOf(o.c.Type())
			if !o.onHost() {
				return mismatch("a column on %s: export it", o.c.Place())
			}
			if layout == memory.LayoutNull || layout >= memory.LayoutList {
				return device.Errorf(device.ErrUnsupported, "", "view", "a column of %s: export it", o.c.Type())
			}
			out._type, out.length, out.bit_offset = interned(nameOf(o.c.Type())), C.int64_t(o.c.Len()), C.int64_t(o.c.Offset())
			out.offsets, out.validity = nil, nil
			if v := o.c.Validity(); v != nil {
				out.validity = address(v)
			}
			from := o.c.Offset()
			at := func(i int, width int64) unsafe.Pointer { return unsafe.Add(address(o.c.Buffer(i).Bytes()), from*width) }
			switch layout {
			case memory.LayoutBits:
				out.values = at(1, 0)
			case memory.LayoutFixed:
				out.values = at(1, int64(memory.Width(o.c.Type())))
			case memory.LayoutBinary:
				out.offsets, out.values = at(1, 4), at(2, 0)
			case memory.LayoutLargeBinary:
				out.offsets, out.values = at(1, 8), at(2, 0)
			}
			return nil
		})
	})
}

// withColumn runs a call on one column.
func withColumn(name string, h C.uintptr_t, body func(c *memory.Column) error) C.int32_t {
	return call(name, func() error {
		return with("column", h, func(o *columnObject) error { return body(o.c) })
	})
}

//export go_volley_column_length
func go_volley_column_length(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return withColumn("volley_column_length", h, func(c *memory.Column) error {
		*out = C.int64_t(c.Len())
		return nil
	})
}

//export go_volley_column_null_count
func go_volley_column_null_count(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return call("volley_column_null_count", func() error {
		return with("column", h, func(o *columnObject) error {
			n, err := o.nulls(context.Background())
			*out = C.int64_t(n)
			return err
		})
	})
}

//export go_volley_column_type
func go_volley_column_type(h C.uintptr_t, out **C.char) C.int32_t {
	return withColumn("volley_column_type", h, func(c *memory.Column) error { return giveText(out, nameOf(c.Type())) })
}

//export go_volley_column_slice
func go_volley_column_slice(h C.uintptr_t, offset, length C.int64_t, out *C.uintptr_t) C.int32_t {
	return call("volley_column_slice", func() error {
		return with("column", h, func(o *columnObject) error {
			c, err := o.c.Slice(int64(offset), int64(length))
			if err != nil {
				return err
			}
			o.at.hold()
			*out = register(&columnObject{c, o.b, o.at})
			return nil
		})
	})
}

//export go_volley_column_free
func go_volley_column_free(h C.uintptr_t) C.int32_t {
	return free[*columnObject]("volley_column_free", h)
}
