package cuda

import (
	_ "embed"
	"runtime"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/gpu"
)

//go:embed prelude.h
var prelude string

// Prelude is the shared dialect in CUDA C++, for the program that makes the PTX.
func Prelude() string { return prelude }

// New makes the backend of a CUDA device. Its GEMM is cuBLAS's where the
// machine has cuBLAS (libcublas.so.12, .13 or .11, or what the variable
// VOLLEY_CUBLAS_LIBRARY names; "none" leaves it alone), which is looked for when
// GEMM is first called.
func New(dev device.Device, options ...gpu.Option) *kernels.Backend {
	b := newBackend(dev, options...)
	if d, ok := dev.(*cuda.Device); ok {
		x := &multiplier{dev: d, own: b.Set.GEMM.Func, names: machineBLAS(runtime.GOOS), load: loadBLAS}
		b.Set.GEMM.Func = x.gemm
	}
	return b
}

func newBackend(dev device.Device, options ...gpu.Option) *kernels.Backend {
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
	}, options...)
}
