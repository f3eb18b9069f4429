package cuda

import (
	"runtime"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/kernels"
)

// Own is a backend of the same device as b whose GEMM is this module's kernel,
// whatever libraries the machine has: what the library's is held against.
// Closing either backend closes the device.
func Own(b *kernels.Backend) *kernels.Backend { return newBackend(b.Device) }

// BLAS is the path of the library that the GEMM of New uses on a device. Where
// it uses none the error is an ErrUnavailable that says why.
func BLAS(dev device.Device) (string, error) {
	d, ok := dev.(*cuda.Device)
	if !ok {
		return "", device.Errorf(device.ErrUnavailable, dev.Name(), "cublas", "not a CUDA device of this process")
	}
	x := &multiplier{dev: d, names: machineBLAS(runtime.GOOS), load: loadBLAS}
	b, err := x.open()
	if err != nil {
		return "", err
	}
	return b.library, nil
}
