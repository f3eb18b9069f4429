package backends

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/volley-go/volley/device"
	cudadevice "github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/host"
	opencldevice "github.com/volley-go/volley/device/opencl"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/cuda"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/kernels/opencl"
	"github.com/volley-go/volley/memory"
)

// variable names the backend of a test run.
const variable = "VOLLEY_BACKEND"

// OnHost tells whether Open gives a backend on the host.
func OnHost() bool {
	name := os.Getenv(variable)
	return name == "" || name == "cpu"
}

// OnGPU tells whether Open gives a backend whose kernels are those for GPUs.
func OnGPU() bool {
	kind, _, _ := strings.Cut(os.Getenv(variable), ":")
	return devices[kind] != nil
}

// devices are the kinds of device that are opened by number: the backend, its
// device not yet wrapped.
var devices = map[string]func(index int) (*kernels.Backend, error){
	"opencl": func(index int) (*kernels.Backend, error) {
		d, err := opencldevice.Open(index)
		if err != nil {
			return nil, err
		}
		return opencl.New(d), nil
	},
	"cuda": func(index int) (*kernels.Backend, error) {
		d, err := cudadevice.Open(index)
		if err != nil {
			return nil, err
		}
		return cuda.New(d), nil
	},
}

// Open opens the backend of the test run. The memory of its device, and with
// that of the CPU and of a remote device the pinned one too, is what through
// makes of the device's own: one that counts, or limits, or is the same. The
// caller closes the backend.
func Open(t testing.TB, through func(memory.Allocator) memory.Allocator) *kernels.Backend {
	t.Helper()
	b, err := open(os.Getenv(variable), through)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(name string, through func(memory.Allocator) memory.Allocator) (*kernels.Backend, error) {
	switch name {
	case "", "cpu":
		return cpu.New(host.New(host.WithAllocator(through(memory.Heap))))
	case "remote":
		place := memory.Place{Type: memory.OpenCL, ID: 99}
		return kerneltest.Remote(place, cpu.Generic(), host.WithAllocator(through(memory.Heap))), nil
	}
	kind, number, _ := strings.Cut(name, ":")
	index := 0
	if number != "" {
		i, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %q is no number", variable, name, number)
		}
		index = i
	}
	f := devices[kind]
	if f == nil {
		return nil, fmt.Errorf("%s=%s: %w: none of cpu, remote, opencl and cuda", variable, name, device.ErrUnavailable)
	}
	b, err := f(index)
	if err != nil {
		return nil, err
	}
	b.Device = devicetest.WithMemory(b.Device, through(b.Device.Memory()))
	return b, nil
}
