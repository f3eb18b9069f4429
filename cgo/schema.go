package main

// #include "base.h"
import "C"

import (
	"fmt"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// foreignField is a field as an array of somebody else's has it, and the type that a column made of such an array has.
type foreignField struct {
	arrow.Field
	own arrow.DataType
}

// importField moves a schema and reads it. It is released, whatever becomes of it.
func importField(p *C.struct_ArrowSchema) (f foreignField, err error) {
	if p == nil {
		return f, mismatch("the schema is NULL")
	}
	if p.release == nil {
		return f, fmt.Errorf("%w: the schema was released", device.ErrClosed)
	}
	own := (*C.struct_ArrowSchema)(C.calloc(1, C.sizeof_struct_ArrowSchema))
	if own == nil {
		return f, device.Errorf(device.ErrOutOfMemory, "", "calloc", "a schema")
	}
	defer C.free(unsafe.Pointer(own))
	*own = *p
	p.release = nil
	if err := checkSchema(own, 0); err != nil {
		C.vly_call_release_schema(own)
		return f, err
	}
	if f.Field, err = cdata.ImportCArrowField(cdata.SchemaFromPtr(uintptr(unsafe.Pointer(own)))); err != nil {
		return f, mismatch("the schema: %v", err)
	}
	f.own, err = memory.Held(f.Type)
	return f, err
}

// checkSchema looks at what would be followed as a pointer.
func checkSchema(p *C.struct_ArrowSchema, depth int) error {
	switch {
	case depth > 64:
		return mismatch("the schema is nested more than 64 times")
	case p.format == nil:
		return mismatch("the schema has no format")
	case !utf8.ValidString(C.GoString(p.format)):
		return mismatch("the schema's format %q is not UTF-8", C.GoString(p.format))
	case p.name != nil && !utf8.ValidString(C.GoString(p.name)):
		return mismatch("the name %q is not UTF-8", C.GoString(p.name))
	case p.n_children < 0 || p.n_children > 1<<24:
		return mismatch("the schema has %d children", int64(p.n_children))
	case p.n_children > 0 && p.children == nil:
		return mismatch("the schema's children are NULL")
	}
	if err := checkFormat(C.GoString(p.format)); err != nil {
		return mismatch("the schema: %v", err)
	}
	for i, child := range unsafe.Slice(p.children, p.n_children) {
		if child == nil || child.release == nil {
			return mismatch("child %d of the schema is NULL or released", i)
		}
		if err := checkSchema(child, depth+1); err != nil {
			return err
		}
	}
	if p.dictionary != nil {
		if p.dictionary.release == nil {
			return mismatch("the schema's dictionary is released")
		}
		return checkSchema(p.dictionary, depth+1)
	}
	return nil
}

// exportField fills a schema of one field.
func exportField(f arrow.Field, out *C.struct_ArrowSchema) {
	cdata.ExportArrowSchema(arrow.NewSchema([]arrow.Field{f}, nil), cdata.SchemaFromPtr(uintptr(unsafe.Pointer(out))))
	inner := *(**C.struct_ArrowSchema)(unsafe.Pointer(out.children))
	own := *inner
	inner.release = nil // moved out of the struct that was made around it
	C.vly_call_release_schema(out)
	*out = own
	C.vly_guard_schema(out)
}

// exportSchema fills a schema of a table.
func exportSchema(s *arrow.Schema, out *C.struct_ArrowSchema) {
	cdata.ExportArrowSchema(s, cdata.SchemaFromPtr(uintptr(unsafe.Pointer(out))))
	C.vly_guard_schema(out)
}
