package opencl_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/opencl"
)

// kernels are the functions of the suite in OpenCL C.
func kernels() device.Source {
	return device.Source{Name: "devicetest", Text: `
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
size_t item(void) {
	return get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
}
kernel void ordinals(global long *out) { out[item()] = (long)item(); }
kernel void twice(global long *out) { out[item()] *= 2; }
`}
}

// devices is how many OpenCL devices are here. Without any the tests that need
// one have nothing to run on; VOLLEY_REQUIRE=opencl makes that a failure.
func devices(t *testing.T) int {
	t.Helper()
	infos, err := opencl.List()
	if err == nil {
		return len(infos)
	}
	if !errors.Is(err, device.ErrUnavailable) {
		t.Fatal(err)
	}
	if strings.Contains(","+os.Getenv("VOLLEY_REQUIRE")+",", ",opencl,") {
		t.Fatalf("VOLLEY_REQUIRE asks for OpenCL: %v", err)
	}
	t.Logf("no OpenCL here: %v", err)
	return 0
}

func open(t *testing.T, i int, opts ...opencl.Option) *opencl.Device {
	t.Helper()
	d, err := opencl.Open(i, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDevice holds every device that is here to the contracts.
func TestDevice(t *testing.T) {
	for i := range devices(t) {
		t.Run(open(t, i).Name(), func(t *testing.T) {
			devicetest.RunWith(t, func() device.Device { return open(t, i) }, kernels())
		})
	}
}
