//go:build !gogl_cl

package opencl

import (
	"runtime"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/dl"
)

// load loads OpenCL's loader library and binds its functions. Where there is
// none, or one without a function that is needed, the error is an
// ErrUnavailable that says what was tried.
func load() (*driver, error) { return loadFrom(dl.OpenCL(runtime.GOOS)...) }

func loadFrom(names ...string) (*driver, error) {
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, &device.Error{Device: "opencl", Call: "load", Kind: device.ErrUnavailable, Text: "no OpenCL loader: " + err.Error(), Cause: err}
	}
	b := binder{lib: lib}
	d := &driver{path: lib.Path()}
	b.queries(d)
	b.contexts(d)
	b.memory(d)
	b.programs(d)
	b.kernels(d)
	b.transfers(d)
	b.events(d)
	b.svm(d)
	if b.err != nil {
		return nil, &device.Error{Device: "opencl", Call: "load", Kind: device.ErrUnavailable, Text: "OpenCL 1.2 is needed: " + b.err.Error(), Cause: b.err}
	}
	return d, nil
}

// binder looks functions up and keeps the first that is missing.
type binder struct {
	lib *dl.Library
	err error
}

func (b *binder) find(name string) uintptr {
	fn, err := b.lib.Symbol(name)
	if err != nil && b.err == nil {
		b.err = err
	}
	return fn
}
