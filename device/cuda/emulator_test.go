package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/internal/cuemu"
	"github.com/volley-go/volley/internal/dl"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run gives the emulator two small devices, and the package's cache a folder of
// its own.
func run(m *testing.M) int {
	cache, err := os.MkdirTemp("", "volley-cuda-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(cache)
	for name, value := range map[string]string{"CUEMU_DEVICES": "2", "CUEMU_MEMORY": "268435456", "VOLLEY_CACHE": cache} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return cuemu.Run(m)
}

// kernels are the functions of the suite in CUDA C.
func kernels() device.Source {
	return device.Source{Name: "devicetest", Text: `
static __device__ long long item() {
	unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
	return x + (long long)(gridDim.x * blockDim.x) * (y + (long long)(gridDim.y * blockDim.y) * z);
}
extern "C" __global__ void ordinals(long long *out) { out[item()] = item(); }
extern "C" __global__ void twice(long long *out) { out[item()] *= 2; }
`}
}

// devices is how many CUDA devices are here: emulated ones, unless the
// environment names a driver.
func devices(t *testing.T) int {
	t.Helper()
	infos, err := cuda.List()
	if err == nil {
		return len(infos)
	}
	if !dl.Available { // a program that is built so has no device, and says why
		is(t, err, device.ErrUnavailable, dl.NotBuilt)
		return 0
	}
	if cuemu.Missing() == "" || cuemu.Required() || !errors.Is(err, device.ErrUnavailable) {
		t.Fatal(err)
	}
	t.Logf("no CUDA here: %v", err)
	return 0
}

// TestLoaded holds every device that is here, through the driver that was
// loaded, to the contracts.
func TestLoaded(t *testing.T) {
	for i := range devices(t) {
		open := func() device.Device {
			d, err := cuda.Open(i)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		devicetest.RunWith(t, open, kernels())
	}
}
