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

// givenDeviceStream is a device stream that was moved here.
type givenDeviceStream struct {
	unmanaged
	p *C.struct_ArrowDeviceArrayStream
}

func (*givenDeviceStream) kind() string { return "stream" }

func (s *givenDeviceStream) drop() {
	C.vly_call_device_release(s.p)
	C.free(unsafe.Pointer(s.p))
}

func moveDeviceStream(p *C.struct_ArrowDeviceArrayStream) (*givenDeviceStream, error) {
	if p == nil {
		return nil, mismatch("the stream is NULL")
	}
	if p.release == nil {
		return nil, fmt.Errorf("%w: the stream was released", device.ErrClosed)
	}
	if p.get_schema == nil || p.get_next == nil || p.get_last_error == nil {
		return nil, mismatch("the stream has callbacks that are NULL")
	}
	own := (*C.struct_ArrowDeviceArrayStream)(C.calloc(1, C.sizeof_struct_ArrowDeviceArrayStream))
	if own == nil {
		return nil, device.Errorf(device.ErrOutOfMemory, "", "calloc", "a stream")
	}
	*own = *p
	p.release = nil
	return &givenDeviceStream{p: own}, nil
}

// arrays are those of the stream. place becomes where the first of them is; all must be there.
func (s *givenDeviceStream) arrays(level C.int64_t, place *memory.Place) arrays {
	failed := func(what string, code C.int) error { return streamFailure(C.vly_call_device_error(s.p), what, code) }
	first := true
	return arrays{
		schema: func(out *C.struct_ArrowSchema) C.int { return C.vly_call_device_schema(s.p, out) },
		failed: failed,
		next: func(ctx context.Context, f foreignField) (*memory.Column, error) {
			scratch := (*C.struct_ArrowDeviceArray)(C.calloc(1, C.sizeof_struct_ArrowDeviceArray))
			if scratch == nil {
				return nil, device.Errorf(device.ErrOutOfMemory, "", "calloc", "an array")
			}
			defer C.free(unsafe.Pointer(scratch))
			if code := C.vly_call_device_next(s.p, scratch); code != 0 {
				return nil, failed("get_next", code)
			}
			if scratch.array.release == nil {
				return nil, nil
			}
			own, from, err := moveArray(&scratch.array)
			if err != nil {
				return nil, err
			}
			g := &givenArray{p: own, from: from}
			defer g.drop()
			p, err := placeOf(int64(scratch.device_type), int64(scratch.device_id))
			if err != nil {
				return nil, err
			}
			if !first && p != *place {
				return nil, mismatch("an array on %s in a stream of arrays on %s", p, *place)
			}
			*place, first = p, false
			c, _, err := g.importOn(ctx, p, scratch.sync_event, f, level)
			return c, err
		},
	}
}

//export go_volley_table_import_device
func go_volley_table_import_device(stream *C.struct_ArrowDeviceArrayStream, o *C.volley_import_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_table_import_device", t, func(k *keeper) (work, error) {
		own, err := moveDeviceStream(stream)
		if err != nil {
			return nil, err
		}
		k.objects = append(k.objects, own)
		given, err := options("options", o)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			place := memory.Place{Type: memory.DeviceType(own.p.device_type)}
			schema, batches, err := readStream(ctx, own.arrays(given.validate, &place))
			if err != nil {
				return outcome{}, err
			}
			made, err := tableAt(ctx, place, schema, batches)
			return giveFailable(out, &tableObject{made}, err)
		}, nil
	})
}

// tableAt is a table of batches that are in a place. It takes over the references to the batches.
func tableAt(ctx context.Context, place memory.Place, schema *arrow.Schema, batches []*table.Batch) (*table.Table, error) {
	b, err := home(place)
	if err == nil && b == nil {
		b, err = host()
	}
	if err != nil {
		for _, batch := range batches {
			batch.Release()
		}
		return nil, err
	}
	return table.NewTable(b, schema, batches)
}
