package main

// #include "base.h"
import "C"

import (
	"context"
	"strings"
	"sync"
	"unsafe"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// deviceObject is a device that is open, and the stream that it is seen through, if any.
type deviceObject struct {
	b *kernels.Backend
	q *queue
}

func (d *deviceObject) hold()      { d.q.hold() }
func (d *deviceObject) drop()      { d.q.drop() }
func (*deviceObject) kind() string { return "device" }

// opened are the devices of this process by their names, and what "auto" is.
var opened struct {
	sync.Mutex
	all map[string]*kernels.Backend
}

// open opens a device, once.
func open(name string) (*kernels.Backend, error) {
	opened.Lock()
	defer opened.Unlock()
	if b := opened.all[name]; b != nil {
		return b, nil
	}
	b, err := volley.Open(name)
	if err != nil {
		return nil, err
	}
	if opened.all == nil {
		opened.all = make(map[string]*kernels.Backend)
	}
	own := b.Device.Name()
	if before := opened.all[own]; before != nil { // by another of its names
		if err := b.Close(); err != nil {
			return nil, err
		}
		b = before
	}
	opened.all[own], opened.all[name] = b, b
	return b, nil
}

// host is the CPU, which what is on no other device is on.
func host() (*kernels.Backend, error) { return open("cpu") }

// backend is the device of a handle; NULL is "auto".
func backend(h C.uintptr_t) (*kernels.Backend, error) {
	if h == 0 {
		return open("auto")
	}
	d, err := find[*deviceObject]("device", h)
	if err != nil {
		return nil, err
	}
	defer d.drop()
	return d.b, nil
}

// keptBackend is backend for calls that can work on a stream of the caller's, which is kept.
func keptBackend(k *keeper, h C.uintptr_t) (*kernels.Backend, *queue, error) {
	if h == 0 {
		b, err := open("auto")
		return b, nil, err
	}
	d, err := kept[*deviceObject](k, "device", h)
	if err != nil {
		return nil, nil, err
	}
	return d.b, d.q, nil
}

// onStream runs kernels on a stream of the backend, and waits for them.
func onStream(ctx context.Context, b *kernels.Backend, body func(s device.Stream) error) error {
	s, err := b.NewStream()
	if err != nil {
		return err
	}
	err = body(s)
	if wait := s.Wait(ctx); err == nil {
		err = wait
	}
	if closing := s.Close(); err == nil {
		err = closing
	}
	return err
}

// moved is a column where the backend reads it, as a new reference.
func moved(ctx context.Context, b *kernels.Backend, s device.Stream, o *columnObject) (*memory.Column, error) {
	if o.b != nil && o.b != b {
		return nil, mismatch("a column on %s as an argument on %s: bring it there by volley_column_to", o.c.Place(), b.Device.Name())
	}
	if err := o.at.before(s); err != nil {
		return nil, err
	}
	return b.OnDevice(ctx, s, o.c)
}

// newColumn is a column that a kernel of the backend made, there at a moment of a stream. It takes over the reference to that.
func newColumn(c *memory.Column, b *kernels.Backend, at *moment) *columnObject {
	if c.Place().HostAccessible() {
		b = nil
	}
	return &columnObject{c, b, at}
}

//export go_volley_devices
func go_volley_devices(out **C.volley_device_info, n *C.int64_t) C.int32_t {
	return call("volley_devices", func() error {
		found := volley.Devices()
		p := (*C.volley_device_info)(C.calloc(C.size_t(max(1, len(found))), C.sizeof_volley_device_info))
		if p == nil {
			return device.Errorf(device.ErrOutOfMemory, "", "calloc", "%d devices", len(found))
		}
		for i, d := range unsafe.Slice(p, len(found)) {
			f := found[i]
			d.name, d.kind, d.tier = C.CString(f.Info.Name), C.CString(f.Kind), C.CString(f.Info.Tier)
			d.description = C.CString(strings.TrimSpace(f.Info.Vendor + " " + f.Info.Model))
			why := ""
			if f.Err != nil {
				why = f.Err.Error()
			}
			d.why = C.CString(why)
			d.units, d.memory = C.int64_t(f.Info.Units), C.int64_t(f.Info.Memory)
			if f.Info.Emulated {
				d.emulated = 1
			}
			unsafe.Slice(p, len(found))[i] = d
		}
		*out, *n = p, C.int64_t(len(found))
		return nil
	})
}

//export go_volley_device_open
func go_volley_device_open(name *C.char, out *C.uintptr_t) C.int32_t {
	return call("volley_device_open", func() error {
		n, err := text("name", name)
		if err != nil {
			return err
		}
		b, err := open(n)
		if err != nil {
			return err
		}
		*out = register(&deviceObject{b: b})
		return nil
	})
}

//export go_volley_device_name
func go_volley_device_name(h C.uintptr_t, out **C.char) C.int32_t {
	return call("volley_device_name", func() error {
		return with("device", h, func(d *deviceObject) error { return giveText(out, d.b.Device.Name()) })
	})
}

//export go_volley_device_free
func go_volley_device_free(h C.uintptr_t) C.int32_t {
	return free[*deviceObject]("volley_device_free", h)
}

//export go_volley_set_memory_limit
func go_volley_set_memory_limit(limit C.int64_t) C.int32_t {
	return call("volley_set_memory_limit", func() error {
		_, err := memory.SetHeapLimit(int64(limit))
		return err
	})
}

//export go_volley_memory
func go_volley_memory(held, limit *C.int64_t) C.int32_t {
	return call("volley_memory", func() error {
		most, err := memory.HeapLimit()
		*held, *limit = C.int64_t(memory.HeapInUse()), C.int64_t(most)
		return err
	})
}

//export go_volley_version
func go_volley_version(out **C.char) C.int32_t {
	return call("volley_version", func() error { return giveText(out, volley.Release) })
}

// features are what a program may ask for.
var features = map[string]bool{
	"arrow_c_data": true, "arrow_c_stream": true, "dlpack": true, "dlpack_versioned": true, "parquet": true, "csv": true, "ipc": true,
	"arrow_c_device": true, "dlpack_device": true, "streams": true, "functions": true, "progress": true, "collectives": true,
}

//export go_volley_feature
func go_volley_feature(name *C.char, out *C.int64_t) C.int32_t {
	return call("volley_feature", func() error {
		n, err := text("name", name)
		if err == nil && features[n] {
			*out = 1
		}
		return err
	})
}
