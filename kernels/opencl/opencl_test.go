package opencl_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/volley-go/volley/device"
	driver "github.com/volley-go/volley/device/opencl"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/gpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/kernels/opencl"
)

// backends are the OpenCL devices that are here, each with its kernels. Without
// any there is nothing to run on; VOLLEY_REQUIRE=opencl makes that a failure.
func backends(t testing.TB, options ...gpu.Option) []*kernels.Backend {
	t.Helper()
	infos, err := driver.List()
	switch {
	case err == nil:
	case !errors.Is(err, device.ErrUnavailable):
		t.Fatal(err)
	case strings.Contains(","+os.Getenv("VOLLEY_REQUIRE")+",", ",opencl,"):
		t.Fatalf("VOLLEY_REQUIRE asks for OpenCL: %v", err)
	default:
		t.Logf("no OpenCL here: %v", err)
	}
	var all []*kernels.Backend
	for i := range infos {
		d, err := driver.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		all = append(all, opencl.New(d, options...))
	}
	return all
}

// TestConformance holds every device to the reference. Joins of more than a few
// keys go by parts, some of which are too large for local memory.
func TestConformance(t *testing.T) {
	for _, b := range backends(t, gpu.JoinParts(16, 8, 12)) {
		t.Run(b.Device.Name(), func(t *testing.T) {
			kerneltest.Run(t, b, kerneltest.Support("testdata/support.txt"), kerneltest.SumShape())
		})
	}
}

func BenchmarkKernels(b *testing.B) {
	for _, backend := range backends(b) {
		b.Run("device="+backend.Device.Name(), func(b *testing.B) { kerneltest.Bench(b, backend) })
	}
}
