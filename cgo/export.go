package main

// #include "base.h"
import "C"

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// exported is memory that C reads until it calls a release callback.
type exported struct {
	unmanaged
	pins    runtime.Pinner
	release func()
}

func (*exported) kind() string { return "exported structure" }

func (e *exported) drop() {
	e.pins.Unpin()
	e.release()
}

// pin is the address of a buffer's bytes, which stay where they are until e is dropped. An empty buffer has the address of zeros.
func (e *exported) pin(b *memory.Buffer) unsafe.Pointer {
	if b == nil || b.Len() == 0 {
		return unsafe.Pointer(&C.vly_zeros[0])
	}
	bytes := b.Bytes()
	e.pins.Pin(&bytes[0])
	return unsafe.Pointer(&bytes[0])
}

// show puts the address of a buffer where C has a pointer. An empty buffer of a device has none.
func (e *exported) show(to *unsafe.Pointer, b *memory.Buffer) {
	if b == nil || b.Place().HostAccessible() {
		*to = e.pin(b)
		return
	}
	at, _ := deviceAddress(b)
	putAddress(to, at)
}

// exportColumn fills an array of a column, which it keeps until the array is released. Buffers of OpenCL begin where their cl_mem does.
func exportColumn(c *memory.Column, out *C.struct_ArrowArray) error {
	e := &exported{release: c.Retain().Release}
	buffers := bufferCounts[memory.LayoutOf(c.Type())]
	dictionary := C.int(0)
	if c.Dictionary() != nil {
		dictionary = 1
	}
	h := register(e)
	if C.vly_fill_array(out, C.int64_t(buffers), C.int64_t(c.NumChildren()), dictionary, h) == 0 {
		go_volley_forget(h)
		return device.Errorf(device.ErrOutOfMemory, "", "calloc", "an array")
	}
	out.length, out.offset, out.null_count = C.int64_t(c.Len()), C.int64_t(c.Offset()), C.int64_t(c.NullCount())
	list := unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(out.buffers)), buffers)
	for i := range list {
		if b := c.Buffer(i); b != nil || i > 0 {
			e.show(&list[i], b)
		}
	}
	for i, child := range unsafe.Slice(out.children, c.NumChildren()) {
		if err := exportColumn(c.Child(i), child); err != nil {
			C.vly_call_release_array(out)
			return err
		}
	}
	if dictionary == 1 {
		if err := exportColumn(c.Dictionary(), out.dictionary); err != nil {
			C.vly_call_release_array(out)
			return err
		}
	}
	return nil
}

// exportBatch fills an array of a host batch: a struct whose children are the columns.
func exportBatch(b *table.Batch, out *C.struct_ArrowArray) error {
	h := register(&exported{release: func() {}})
	if C.vly_fill_array(out, 1, C.int64_t(b.NumColumns()), 0, h) == 0 {
		go_volley_forget(h)
		return device.Errorf(device.ErrOutOfMemory, "", "calloc", "an array")
	}
	out.length = C.int64_t(b.Len())
	for i, child := range unsafe.Slice(out.children, b.NumColumns()) {
		if err := exportColumn(b.Column(i), child); err != nil {
			C.vly_call_release_array(out)
			return err
		}
	}
	return nil
}

// onHost is the column in host memory, as a new reference.
func (o *columnObject) host(ctx context.Context) (c *memory.Column, err error) {
	if o.b == nil || o.onHost() {
		return o.c.Retain(), nil
	}
	err = onStream(ctx, o.b, func(s device.Stream) error {
		if err := o.at.before(s); err != nil {
			return err
		}
		c, err = o.b.OnHost(ctx, s, o.c)
		return err
	})
	return c, err
}

//export go_volley_column_export
func go_volley_column_export(h C.uintptr_t, array *C.struct_ArrowArray, schema *C.struct_ArrowSchema) C.int32_t {
	return call("volley_column_export", func() error {
		return with("column", h, func(o *columnObject) error {
			if array != nil {
				c, err := o.host(context.Background())
				if err != nil {
					return err
				}
				defer c.Release()
				if err := exportColumn(c, array); err != nil {
					return err
				}
			}
			if schema != nil {
				exportField(arrow.Field{Type: o.c.Type(), Nullable: true}, schema)
			}
			return nil
		})
	})
}

//export go_volley_column_import
func go_volley_column_import(array *C.struct_ArrowArray, schema *C.struct_ArrowSchema, o *C.volley_import_options, out *C.uintptr_t) C.int32_t {
	return call("volley_column_import", func() error {
		given, err := options("options", o)
		f, schemaErr := importField(schema)
		if err == nil {
			err = schemaErr
		}
		if err != nil { // the array is moved all the same
			if _, from, moveErr := moveArray(array); moveErr == nil {
				from.drop()
			}
			return err
		}
		c, err := importArray(array, f, given.validate)
		if err != nil {
			return err
		}
		*out = register(&columnObject{c: c})
		return nil
	})
}
