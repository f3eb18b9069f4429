package main

// #include "base.h"
import "C"

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// whole is a column whose buffers begin where their allocations do, as a new reference: a cl_mem goes without an offset where Arrow has it.
// Most do; the others are copied on their device.
func whole(ctx context.Context, b *kernels.Backend, c *memory.Column) (*memory.Column, error) {
	if b == nil || b.Device.Place().Type != memory.OpenCL || beginsWhole(c) {
		return c.Retain(), nil
	}
	var made *memory.Column
	err := onStream(ctx, b, func(s device.Stream) (err error) {
		made, err = device.Move(ctx, s, b.Device.Memory(), c)
		return err
	})
	return made, err
}

func beginsWhole(c *memory.Column) bool {
	for i := range 3 {
		if b := c.Buffer(i); b != nil {
			if _, offset := b.Handle(); offset != 0 {
				return false
			}
		}
	}
	for i := range c.NumChildren() {
		if !beginsWhole(c.Child(i)) {
			return false
		}
	}
	return c.Dictionary() == nil || beginsWhole(c.Dictionary())
}

// settle says where an array is; its work is done, so that it has no event.
func settle(out *C.struct_ArrowDeviceArray, p memory.Place) {
	out.device_type, out.device_id, out.sync_event = C.ArrowDeviceType(p.Type), C.int64_t(p.ID), nil
	if p == memory.Host {
		out.device_id = -1
	}
}

//export go_volley_column_export_device
func go_volley_column_export_device(h C.uintptr_t, array *C.struct_ArrowDeviceArray, schema *C.struct_ArrowSchema) C.int32_t {
	return call("volley_column_export_device", func() error {
		return with("column", h, func(o *columnObject) error {
			ctx := context.Background()
			if array != nil {
				*array = C.struct_ArrowDeviceArray{}
				if err := o.at.wait(ctx); err != nil {
					return err
				}
				c, err := whole(ctx, o.b, o.c)
				if err != nil {
					return err
				}
				defer c.Release()
				if err := exportColumn(c, &array.array); err != nil {
					return err
				}
				settle(array, exportPlace(c))
			}
			if schema != nil {
				exportField(arrow.Field{Type: o.c.Type(), Nullable: true}, schema)
			}
			return nil
		})
	})
}

// exportPlace is the place of a column as others are told: memory that the host reads is the host's, pinned or not.
func exportPlace(c *memory.Column) memory.Place {
	if c.Place().HostAccessible() {
		return memory.Host
	}
	return c.Place()
}

// batchPlace is where a batch is.
func batchPlace(b *table.Batch) memory.Place {
	for i := range b.NumColumns() {
		if p := exportPlace(b.Column(i)); p != memory.Host {
			return p
		}
	}
	return memory.Host
}

//export go_volley_stream_next_device
func go_volley_stream_next_device(h C.uintptr_t, out *C.struct_ArrowDeviceArray) C.int {
	return answer(h, func(s *streamObject) error {
		b, err := s.next()
		if err != nil {
			return err
		}
		settle(out, s.place)
		if b == nil {
			return nil
		}
		defer b.Release()
		return exportBatch(b, &out.array)
	})
}

//export go_volley_table_export_device
func go_volley_table_export_device(h C.uintptr_t, out *C.struct_ArrowDeviceArrayStream) C.int32_t {
	return withTable("volley_table_export_device", h, func(t *table.Table) error {
		ctx := context.Background()
		b, err := home(t.Backend().Device.Place())
		if err != nil {
			return err
		}
		place := memory.Host
		var chunks []*table.Batch
		release := func() {
			for _, c := range chunks {
				c.Release()
			}
		}
		for _, chunk := range t.Chunks() {
			own, err := wholeBatch(ctx, b, chunk)
			if err != nil {
				release()
				return err
			}
			chunks = append(chunks, own)
			place = batchPlace(own)
		}
		if b != nil {
			place = b.Device.Place()
		}
		s := &streamObject{schema: t.Schema(), stop: release, place: place}
		left := chunks
		s.next = func() (*table.Batch, error) {
			if len(left) == 0 {
				return nil, nil
			}
			first := left[0]
			left = left[1:]
			return first.Retain(), nil
		}
		handle := register(s)
		C.vly_fill_device_stream(out, handle, C.int32_t(place.Type))
		if out.release == nil {
			go_volley_forget(handle)
			return device.Errorf(device.ErrOutOfMemory, "", "calloc", "a stream")
		}
		return nil
	})
}

// wholeBatch is whole of a batch's columns.
func wholeBatch(ctx context.Context, b *kernels.Backend, from *table.Batch) (*table.Batch, error) {
	columns := make([]*memory.Column, 0, from.NumColumns())
	for i := range from.NumColumns() {
		c, err := whole(ctx, b, from.Column(i))
		if err != nil {
			for _, c := range columns {
				c.Release()
			}
			return nil, err
		}
		columns = append(columns, c)
	}
	return table.NewBatch(from.Schema(), from.Len(), columns)
}
