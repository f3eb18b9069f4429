package main

// #include "base.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// onQueue runs body on a stream of the backend. Without a stream of the caller's it waits for the work; with one it gives the moment where the
// work is done, nil of the host, whose work is done when body returns.
func onQueue(ctx context.Context, b *kernels.Backend, q *queue, body func(s device.Stream) error) (*moment, error) {
	if q == nil {
		return nil, onStream(ctx, b, body)
	}
	if err := body(q.s); err != nil || b.Device.Place().HostAccessible() {
		return nil, err
	}
	return q.mark()
}

// home is the backend of a place that the host cannot read, nil for the others.
func home(p memory.Place) (*kernels.Backend, error) {
	if p.HostAccessible() {
		return nil, nil
	}
	return open(p.String())
}

// foreignDevice is a backend's device as one that works with other libraries of its driver.
func foreignDevice(b *kernels.Backend) (device.Foreign, error) {
	f, ok := b.Device.(device.Foreign)
	if !ok {
		return nil, device.Errorf(device.ErrUnsupported, b.Device.Name(), "context", "a device without a driver's context")
	}
	return f, nil
}

//export go_volley_device_context
func go_volley_device_context(h C.uintptr_t, out *C.uint64_t) C.int32_t {
	return call("volley_device_context", func() error {
		b, err := backend(h)
		if err != nil {
			return err
		}
		f, err := foreignDevice(b)
		if err == nil {
			*out = C.uint64_t(f.Context())
		}
		return err
	})
}

// transfer moves buffers to a backend: through a Mover where one stream reaches both sides, else by way of the host. from is nil of host memory.
type transfer struct {
	from, to *kernels.Backend
	q        *queue
	at       *moment
}

// run gives the moved object, and the moment where it is there.
func (t transfer) run(ctx context.Context, copyAll func(m *device.Mover) error, through func(host *device.Mover) error) (*moment, error) {
	near, target := t.to, t.to.Device.Memory()
	switch {
	case t.from == nil || t.to.Device.Place().Type == t.from.Device.Place().Type:
	case t.to.Device.Place().HostAccessible():
		near, target = t.from, t.from.Device.Pinned()
	default: // two drivers
		err := onStream(ctx, t.from, func(s device.Stream) error {
			if err := t.at.before(s); err != nil {
				return err
			}
			m := device.NewMover(s, t.from.Device.Pinned())
			defer m.Release()
			if err := through(m); err != nil {
				return err
			}
			return s.Wait(ctx)
		})
		if err != nil {
			return nil, err
		}
		t.at = nil
	}
	q := t.q
	if near != t.to {
		q = nil
	}
	return onQueue(ctx, near, q, func(s device.Stream) error {
		if err := t.at.before(s); err != nil {
			return err
		}
		m := device.NewMover(s, target)
		defer m.Release()
		return copyAll(m)
	})
}

// columnTo is a column on a backend: the same where it is there already.
func columnTo(ctx context.Context, o *columnObject, b *kernels.Backend, q *queue) (*columnObject, error) {
	if o.b == b || o.b == nil && b.Device.Place().HostAccessible() {
		o.hold()
		return o, nil
	}
	from := o.c.Retain()
	defer func() { from.Release() }()
	var made *memory.Column
	at, err := transfer{o.b, b, q, o.at}.run(ctx, func(m *device.Mover) (err error) {
		made, err = m.Column(from)
		return err
	}, func(m *device.Mover) error {
		near, err := m.Column(from)
		if err == nil {
			from.Release()
			from = near
		}
		return err
	})
	if err != nil {
		made.Release()
		return nil, err
	}
	return newColumn(made, b, at), nil
}

//export go_volley_column_to
func go_volley_column_to(h, d, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_column_to", t, func(k *keeper) (work, error) {
		o, err := kept[*columnObject](k, "column", h)
		if err != nil {
			return nil, err
		}
		b, q, err := keptBackend(k, d)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := columnTo(ctx, o, b, q)
			return giveFailable(out, made, err)
		}, nil
	})
}

// giveDevice hands out the device of a backend, the host's for nil.
func giveDevice(out *C.uintptr_t, b *kernels.Backend) (err error) {
	if b == nil {
		if b, err = host(); err != nil {
			return err
		}
	}
	*out = register(&deviceObject{b: b})
	return nil
}

//export go_volley_column_device
func go_volley_column_device(h C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return call("volley_column_device", func() error {
		return with("column", h, func(o *columnObject) error { return giveDevice(out, o.b) })
	})
}

// nulls counts the nulls of a column, also of one on a device that nobody has counted before: its bitmap is copied for that.
func (o *columnObject) nulls(ctx context.Context) (n int64, err error) {
	if n = o.c.NullCount(); n >= 0 || o.b == nil {
		return n, nil
	}
	err = onStream(ctx, o.b, func(s device.Stream) error {
		if err := o.at.before(s); err != nil {
			return err
		}
		m := device.NewMover(s, o.b.Device.Pinned())
		defer m.Release()
		bits, err := m.Buffer(o.c.Buffer(0))
		if err != nil {
			return err
		}
		defer bits.Release()
		if err := s.Wait(ctx); err != nil {
			return err
		}
		n = o.c.Len() - memory.Bitmap(bits.Bytes()).Count(o.c.Offset(), o.c.Len())
		return nil
	})
	return n, err
}

// address is where C finds a buffer of a device: an address of CUDA, a cl_mem of OpenCL, whose offset C is told beside it or not at all.
func deviceAddress(b *memory.Buffer) (at uintptr, offset int64) {
	at, offset = b.Handle()
	if b.Place().Type == memory.CUDA {
		return at + uintptr(offset), 0
	}
	return at, offset
}

// putAddress writes an address that is not this process's memory where C has a pointer.
func putAddress(to *unsafe.Pointer, at uintptr) { *(*uintptr)(unsafe.Pointer(to)) = at }
