package opencl

import (
	_ "embed"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/gpu"
)

//go:embed prelude.h
var prelude string

// New makes the backend of an OpenCL device. A kernel is compiled when it is
// first called, unless the driver's or the device's cache has it.
func New(dev device.Device, options ...gpu.Option) *kernels.Backend {
	return gpu.New(dev, dialect(dev), options...)
}

// dialect is OpenCL C for a device, with warps where they can be relied on,
// which is found out when the first kernel is called.
func dialect(dev device.Device) gpu.Dialect {
	warps := sync.OnceValue(func() bool {
		yes, err := Warps(dev)
		return yes && err == nil
	})
	source := func(name, text string, err error) (device.Source, error) {
		src := device.Source{Name: name, Text: text}
		if err == nil && warps() {
			src.Defines = withWarps
		}
		return src, err
	}
	return gpu.Dialect{
		Name: "opencl",
		Source: func(module string) (device.Source, error) {
			text, err := gpu.Assemble(prelude, module)
			return source(module, text, err)
		},
		Compile: func(name, text string) (device.Source, error) {
			text, err := gpu.Wrap(prelude, name, text)
			return source(name, text, err)
		},
	}
}
