package opencl

import (
	_ "embed"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/gpu"
)

//go:embed prelude.h
var prelude string

// New makes the backend of an OpenCL device. A kernel is compiled when it is
// first called, unless the driver's or the device's cache has it.
func New(dev device.Device, options ...gpu.Option) *kernels.Backend {
	return gpu.New(dev, gpu.Dialect{
		Name: "opencl",
		Source: func(module string) (device.Source, error) {
			text, err := gpu.Assemble(prelude, module)
			return device.Source{Name: module, Text: text}, err
		},
		Compile: func(name, text string) (device.Source, error) {
			text, err := gpu.Wrap(prelude, name, text)
			return device.Source{Name: name, Text: text}, err
		},
	}, options...)
}
