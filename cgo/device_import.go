package main

// #include "base.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// elsewhere is where the memory of a foreign array or tensor is, if the host cannot read it.
type elsewhere struct {
	ctx context.Context
	b   *kernels.Backend
	f   device.Foreign
	s   device.Stream // reads offsets
}

// placeOf is the place of a number of DLPack and Arrow for a kind of device, and of a device of that kind.
func placeOf(kind, id int64) (memory.Place, error) {
	p := memory.Place{Type: memory.DeviceType(kind), ID: int32(id)}
	switch p.Type {
	case memory.CPU:
		return memory.Host, nil
	case memory.CUDA, memory.CUDAHost, memory.CUDAManaged, memory.OpenCL:
		if id >= 0 && id < 1<<20 {
			return p, nil
		}
	}
	return p, device.Errorf(device.ErrUnsupported, "", "import", "memory of device %d of kind %d: there are the host's (1), CUDA's (2, 3, 13) and OpenCL's (4)", id, kind)
}

// backendFor is the backend that reaches memory of a place and knows its events.
func backendFor(p memory.Place) (*kernels.Backend, error) {
	switch p.Type {
	case memory.CUDA, memory.CUDAHost, memory.CUDAManaged:
		return open(memory.Place{Type: memory.CUDA, ID: p.ID}.String())
	case memory.OpenCL:
		return open(p.String())
	}
	return host()
}

// await waits for the event that an array came with: memory of the host has none. from lives until nobody looks at the event any more.
func await(ctx context.Context, p memory.Place, event unsafe.Pointer, from *foreign) error {
	if event == nil {
		return nil
	}
	b, err := backendFor(p)
	if err != nil {
		return err
	}
	f, ok := b.Device.(device.Foreign)
	if !ok {
		return mismatch("an array on %s with an event: the host has none", p)
	}
	from.refs.Add(1)
	return f.Await(ctx, *(*uintptr)(event), from.drop)
}

// reach is how memory of a place is reached, nil of the host's. The caller closes the stream.
func reach(ctx context.Context, p memory.Place) (*elsewhere, error) {
	if p.HostAccessible() {
		return nil, nil
	}
	b, err := backendFor(p)
	if err != nil {
		return nil, err
	}
	f, err := foreignDevice(b)
	if err != nil {
		return nil, err
	}
	s, err := b.NewStream()
	return &elsewhere{ctx, b, f, s}, err
}

func (e *elsewhere) close() {
	if e != nil {
		_ = e.s.Close() // its copies were waited for
	}
}

// backend is the one whose memory it is, nil of the host's.
func (e *elsewhere) backend() *kernels.Backend {
	if e == nil {
		return nil
	}
	return e.b
}

// buffer is n bytes of a device's memory, of a cl_mem from its start on.
func (e *elsewhere) buffer(from *foreign, at uintptr, n int64, align int) (*memory.Buffer, error) {
	place := e.b.Device.Place()
	if n == 0 {
		return memory.WrapBlock(place, memory.Block{}, nil), nil
	}
	if at == 0 || n < 0 || n > 1<<47 {
		return nil, mismatch("a buffer of %d bytes at %#x of %s", n, at, place)
	}
	if place.Type == memory.CUDA && at%uintptr(align) != 0 {
		return nil, mismatch("a buffer at %#x, which is not a multiple of %d", at, align)
	}
	have, err := e.f.Extent(at)
	if err != nil {
		return nil, err
	}
	if have >= 0 && have < n {
		return nil, mismatch("a buffer of %d bytes in memory of %d", n, have)
	}
	from.refs.Add(1)
	return memory.WrapBlock(place, memory.Block{Handle: at, Size: n}, from.drop), nil
}

// read copies n bytes of a buffer to the host.
func (e *elsewhere) read(b *memory.Buffer, offset, n int64) (*memory.Buffer, error) {
	near, err := memory.New(e.b.Device.Pinned(), n)
	if err != nil {
		return nil, err
	}
	err = e.s.Copy(near, 0, b, offset, n)
	if err == nil {
		err = e.s.Wait(e.ctx)
	}
	if err != nil {
		near.Release()
		return nil, err
	}
	return near, nil
}

// offsetAt is offset i of a buffer of offsets of a width in bytes.
func (m importer) offsetAt(b *memory.Buffer, width, i int64) (int64, error) {
	if m.at == nil {
		return offsetAt(b, width, i), nil
	}
	near, err := m.at.read(b, i*width, width)
	if err != nil {
		return 0, err
	}
	defer near.Release()
	return offsetAt(near, width, 0), nil
}

// validate looks at all values: of a device's memory at a copy on the host.
func (m importer) validate(c *memory.Column) error {
	if m.at == nil {
		if err := c.Validate(); err != nil {
			return err
		}
		return checkUTF8(c)
	}
	near, err := device.Move(m.at.ctx, m.at.s, m.at.b.Device.Pinned(), c)
	if err != nil {
		return err
	}
	defer near.Release()
	return importer{}.validate(near)
}

// givenArray is an array that was moved here.
type givenArray struct {
	unmanaged
	p    *C.struct_ArrowArray
	from *foreign
}

func (*givenArray) kind() string { return "array" }
func (g *givenArray) drop()      { g.from.drop() }

// importOn makes a column of a moved array in a place, once its event was reached.
func (g *givenArray) importOn(ctx context.Context, p memory.Place, event unsafe.Pointer, f foreignField, level C.int64_t) (*memory.Column, *kernels.Backend, error) {
	if err := await(ctx, p, event, g.from); err != nil {
		return nil, nil, err
	}
	at, err := reach(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	defer at.close()
	c, err := importer{g.from, level, at}.whole(g.p, f)
	return c, at.backend(), err
}

//export go_volley_column_import_device
func go_volley_column_import_device(array *C.struct_ArrowDeviceArray, schema *C.struct_ArrowSchema, o *C.volley_import_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_column_import_device", t, func(k *keeper) (work, error) {
		given, err := options("options", o)
		f, schemaErr := importField(schema)
		if err == nil {
			err = schemaErr
		}
		if array == nil {
			return nil, mismatch("the array is NULL")
		}
		own, from, moveErr := moveArray(&array.array) // it is moved all the same
		if moveErr == nil {
			k.objects = append(k.objects, &givenArray{p: own, from: from})
		}
		if err == nil {
			err = moveErr
		}
		if err != nil {
			return nil, err
		}
		p, err := placeOf(int64(array.device_type), int64(array.device_id))
		if err != nil {
			return nil, err
		}
		event := array.sync_event
		return func(ctx context.Context) (outcome, error) {
			g := &givenArray{p: own, from: from}
			c, b, err := g.importOn(ctx, p, event, f, given.validate)
			if err != nil {
				return outcome{}, fmt.Errorf("an array on %s: %w", p, err)
			}
			return give(out, &columnObject{c: c, b: b}), nil
		}, nil
	})
}
