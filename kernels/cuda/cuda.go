package cuda

import (
	_ "embed"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/gpu"
)

//go:embed prelude.h
var prelude string

// Prelude is the shared dialect in CUDA C++, for the program that makes the PTX.
func Prelude() string { return prelude }

// New makes the backend of a CUDA device.
func New(dev device.Device) *kernels.Backend {
	return gpu.New(dev, gpu.Dialect{
		Name: "cuda",
		Source: func(module string) (device.Source, error) {
			text, err := Text(module)
			if err != nil {
				return device.Source{}, err
			}
			ptx, err := PTX(module, text)
			return device.Source{Name: module, Text: text, Image: ptx}, err
		},
		Compile: func(name, text string) (device.Source, error) {
			text, err := gpu.Wrap(prelude, name, text)
			return device.Source{Name: name, Text: text}, err
		},
	})
}
