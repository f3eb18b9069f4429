package main

// #include "base.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/volley-go/volley/dataloader"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// readMap reads the function of each batch's table, if there is one.
func (p *loaderPlan) readMap(m *C.volley_batch_map) error {
	if m == nil {
		return nil
	}
	c, err := options("map", m)
	if err != nil {
		return err
	}
	made := &dataloader.BatchMap{MaxRows: int64(c.max_rows)}
	if made.Name, err = text("name of the map", c.name); err != nil {
		return err
	}
	if c.columns != nil {
		if made.Columns, err = texts("columns of the map", c.columns, c.columns_count); err != nil {
			return err
		}
	}
	if c._map == nil {
		return mismatch("map %q: its function is NULL", made.Name)
	}
	made.Do = mapBy(unsafe.Pointer(c._map), C.uintptr_t(uintptr(c.context)))
	p.mapped = made
	return nil
}

// mapBy calls a function of C with the stream of a table, for another.
func mapBy(f unsafe.Pointer, given C.uintptr_t) func(ctx context.Context, batch *table.Table) (*table.Table, error) {
	return func(ctx context.Context, batch *table.Table) (*table.Table, error) {
		streams := (*[2]C.struct_ArrowArrayStream)(C.calloc(2, C.sizeof_struct_ArrowArrayStream))
		if streams == nil {
			return nil, device.Errorf(device.ErrOutOfMemory, "", "calloc", "two streams")
		}
		defer C.free(unsafe.Pointer(streams))
		from := streamTable(batch.Retain())
		if err := publish(from, &streams[0]); err != nil {
			from.stop()
			return nil, err
		}
		defer func() {
			for i := range streams {
				if streams[i].release != nil {
					C.vly_call_release_stream(&streams[i])
				}
			}
		}()
		room := new(said)
		if err := ofStatus(C.vly_call_map(f, given, &streams[0], &streams[1], &room[0], bodySaid), room); err != nil {
			return nil, err
		}
		own, err := moveStream(&streams[1])
		if err != nil {
			return nil, fmt.Errorf("the result: %w", err)
		}
		result := &givenStream{p: own}
		defer result.drop()
		schema, batches, err := readStream(ctx, hostArrays(own, C.VOLLEY_VALIDATE_CHEAP))
		if err != nil {
			return nil, fmt.Errorf("the result: %w", err)
		}
		return table.NewTable(batch.Backend(), schema, batches)
	}
}
