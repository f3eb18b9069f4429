package main

// #include "base.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// moveStream moves a stream out of the structure that C gave.
func moveStream(p *C.struct_ArrowArrayStream) (*C.struct_ArrowArrayStream, error) {
	if p == nil {
		return nil, mismatch("the stream is NULL")
	}
	if p.release == nil {
		return nil, fmt.Errorf("%w: the stream was released", device.ErrClosed)
	}
	if p.get_schema == nil || p.get_next == nil || p.get_last_error == nil {
		return nil, mismatch("the stream has callbacks that are NULL")
	}
	own := (*C.struct_ArrowArrayStream)(C.calloc(1, C.sizeof_struct_ArrowArrayStream))
	if own == nil {
		return nil, device.Errorf(device.ErrOutOfMemory, "", "calloc", "a stream")
	}
	*own = *p
	p.release = nil
	return own, nil
}

// streamFailure is the error of a stream whose callback returned code.
func streamFailure(said *C.char, what string, code C.int) error {
	text := C.GoString(said)
	kind := device.ErrMismatch
	switch code {
	case 12:
		kind = device.ErrOutOfMemory
	case 125:
		kind = device.ErrCanceled
	}
	return fmt.Errorf("%w: the stream's %s failed with %d: %s", kind, what, int(code), text)
}

// arrays are what a stream gives: its schema, and its arrays one after the other as columns, nil after the last.
type arrays struct {
	schema func(out *C.struct_ArrowSchema) C.int
	next   func(ctx context.Context, f foreignField) (*memory.Column, error)
	failed func(what string, code C.int) error
}

// hostArrays are those of a stream in host memory.
func hostArrays(p *C.struct_ArrowArrayStream, level C.int64_t) arrays {
	failed := func(what string, code C.int) error { return streamFailure(C.vly_call_get_last_error(p), what, code) }
	return arrays{
		schema: func(out *C.struct_ArrowSchema) C.int { return C.vly_call_get_schema(p, out) },
		failed: failed,
		next: func(_ context.Context, f foreignField) (*memory.Column, error) {
			scratch := (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
			if scratch == nil {
				return nil, device.Errorf(device.ErrOutOfMemory, "", "calloc", "an array")
			}
			defer C.free(unsafe.Pointer(scratch))
			if code := C.vly_call_get_next(p, scratch); code != 0 {
				return nil, failed("get_next", code)
			}
			if scratch.release == nil {
				return nil, nil
			}
			return importArray(scratch, f, level)
		},
	}
}

// streamHead is what a stream says of its arrays.
type streamHead struct {
	field   foreignField
	schema  *arrow.Schema
	structs bool // an array is a batch's columns, else its one column
}

// head asks a stream for its schema.
func (a arrays) head() (h streamHead, err error) {
	given := (*C.struct_ArrowSchema)(C.calloc(1, C.sizeof_struct_ArrowSchema))
	if given == nil {
		return h, device.Errorf(device.ErrOutOfMemory, "", "calloc", "a schema")
	}
	defer C.free(unsafe.Pointer(given))
	if code := a.schema(given); code != 0 {
		return h, a.failed("get_schema", code)
	}
	if h.field, err = importField(given); err != nil {
		return h, err
	}
	t, ok := h.field.own.(*arrow.StructType)
	if !ok { // a stream of arrays, such as a chunked array's: a table of one column
		t = arrow.StructOf(arrow.Field{Name: h.field.Name, Type: h.field.own, Nullable: true})
	}
	metadata := h.field.Metadata
	h.schema, h.structs = arrow.NewSchema(t.Fields(), &metadata), ok
	return h, nil
}

// batch is the next batch of a stream, nil after the last.
func (a arrays) batch(ctx context.Context, h streamHead) (*table.Batch, error) {
	c, err := a.next(ctx, h.field)
	if err != nil || c == nil {
		return nil, err
	}
	return batchOf(c, h.schema, h.structs)
}

// readStream reads a stream to its end. Batches are what its arrays hold, without a copy.
func readStream(ctx context.Context, from arrays) (_ *arrow.Schema, batches []*table.Batch, err error) {
	defer func() {
		if err != nil {
			for _, b := range batches {
				b.Release()
			}
		}
	}()
	head, err := from.head()
	if err != nil {
		return nil, nil, err
	}
	for {
		if err := device.Canceled(ctx, "", "import"); err != nil {
			return nil, batches, err
		}
		b, err := from.batch(ctx, head)
		if err != nil {
			return nil, batches, fmt.Errorf("batch %d: %w", len(batches), err)
		}
		if b == nil {
			return head.schema, batches, nil
		}
		batches = append(batches, b)
	}
}

// batchOf takes a struct column apart into a batch; a column of another type is the batch's one column. It takes over the reference.
func batchOf(c *memory.Column, schema *arrow.Schema, isStruct bool) (*table.Batch, error) {
	if !isStruct {
		return table.NewBatch(schema, c.Len(), []*memory.Column{c})
	}
	defer c.Release()
	if c.NullCount() != 0 && c.Buffer(0) != nil { // of a device nobody has counted: then there may be none at all
		return nil, mismatch("%d rows are null as a whole, or nobody has counted them", c.NullCount())
	}
	columns := make([]*memory.Column, c.NumChildren())
	for i := range columns {
		columns[i] = c.Field(i)
	}
	return table.NewBatch(schema, c.Len(), columns)
}

// givenStream is a stream that was moved here.
type givenStream struct {
	unmanaged
	p *C.struct_ArrowArrayStream
}

func (*givenStream) kind() string { return "stream" }

func (s *givenStream) drop() {
	C.vly_call_release_stream(s.p)
	C.free(unsafe.Pointer(s.p))
}

//export go_volley_table_import
func go_volley_table_import(d C.uintptr_t, stream *C.struct_ArrowArrayStream, o *C.volley_import_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_table_import", t, func(k *keeper) (work, error) {
		own, err := moveStream(stream)
		if err != nil {
			return nil, err
		}
		k.objects = append(k.objects, &givenStream{p: own})
		given, err := options("options", o)
		if err != nil {
			return nil, err
		}
		b, err := backend(d)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			schema, batches, err := readStream(ctx, hostArrays(own, given.validate))
			if err != nil {
				return outcome{}, err
			}
			made, err := placed(ctx, b, schema, batches)
			return giveFailable(out, &tableObject{made}, err)
		}, nil
	})
}
