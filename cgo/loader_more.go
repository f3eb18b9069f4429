package main

// #include "base.h"
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/volley-go/volley/dataloader"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// readMore reads decoders, derived columns and where batches go.
func (p *loaderPlan) readMore(c *C.volley_loader_options) error {
	n, err := count("decoders", c.decoders, c.decoders_count)
	if err != nil {
		return err
	}
	decoders := unsafe.Slice(c.decoders, n)
	for i := range decoders {
		d := &decoders[i] // where it is: its context may be any word
		column, err := text("column of a decoder", d.column)
		if err != nil {
			return err
		}
		if p.options.Encode[column] != nil {
			return mismatch("column %q has two encodings", column)
		}
		if p.options.Encode[column], err = decoder(column, d); err != nil {
			return err
		}
	}
	if n, err = count("derive", c.derive, c.derive_count); err != nil {
		return err
	}
	for _, d := range unsafe.Slice(c.derive, n) {
		name, err := text("name of a derived column", d.name)
		if err != nil {
			return err
		}
		e, err := find[*exprObject](fmt.Sprintf("the expression of %q", name), C.uintptr_t(uintptr(unsafe.Pointer(d.value))))
		if err != nil {
			return err
		}
		p.derive = append(p.derive, dataloader.Column{Name: name, Expr: e.e})
	}
	if err := p.readMap(c._map); err != nil {
		return err
	}
	p.pin = c.pin != 0
	if h := C.uintptr_t(uintptr(unsafe.Pointer(c.device))); h != 0 {
		b, err := backend(h)
		if err != nil {
			return err
		}
		if !b.Device.Place().HostAccessible() {
			p.device = b.Device
		}
	}
	return nil
}

// pinned is the memory that the ring is asked to lie in: of the loader's device, or of CUDA's first one. nil is plain memory, of which the loader's
// warnings tell.
func (p *loaderPlan) pinned(made *loaderObject) memory.Allocator {
	if p.device != nil {
		return p.device.Pinned()
	}
	b, err := open("cuda:0")
	if err != nil {
		made.warn("there is no pinned memory, and the ring is in plain memory, from which copies to a device are slower", err)
		return nil
	}
	return b.Device.Pinned()
}

// decoder is the encoding of a column by a function of C.
func decoder(column string, d *C.volley_decoder) (*dataloader.Encoding, error) {
	name, err := text("type of a decoder", d._type)
	if err != nil {
		return nil, err
	}
	t, err := tensorType(name)
	if err != nil {
		return nil, err
	}
	if d.decode == nil {
		return nil, mismatch("column %q: decode is NULL", column)
	}
	return dataloader.Decode(t, int64(d.length), decodeBy(unsafe.Pointer(d.decode), C.uintptr_t(uintptr(d.context)))), nil
}

// said is room for what a function of C says about its failure.
type said [bodySaid]C.char

// decodeBy calls a function of C with the memory of a value and of its elements.
func decodeBy(f unsafe.Pointer, given C.uintptr_t) func(value, to []byte) error {
	rooms := sync.Pool{New: func() any { return new(said) }}
	return func(value, to []byte) error {
		room := rooms.Get().(*said)
		defer rooms.Put(room)
		room[0] = 0
		from := unsafe.Pointer(unsafe.SliceData(value))
		if len(value) == 0 {
			from = unsafe.Pointer(&C.vly_zeros)
		}
		status := C.vly_call_decode(f, given, from, C.int64_t(len(value)), unsafe.Pointer(unsafe.SliceData(to)), C.int64_t(len(to)), &room[0], bodySaid)
		runtime.KeepAlive(value)
		return ofStatus(status, room)
	}
}

// ofStatus is the error of a function of C.
func ofStatus(status C.int32_t, room *said) error {
	text := C.GoString(&room[0])
	switch status {
	case C.VOLLEY_OK:
		return nil
	case C.VOLLEY_CANCELED:
		return fmt.Errorf("%w: %s", device.ErrCanceled, text)
	default:
		return device.Errorf(device.ErrValue, "", "loader", "the program's function returned %d: %s", int(status), text)
	}
}
