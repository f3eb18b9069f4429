package cuda_test

import (
	"errors"
	"os"
	"testing"

	"github.com/volley-go/volley/device"
	driver "github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/internal/cuemu"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cuda"
	"github.com/volley-go/volley/kernels/gpu"
	"github.com/volley-go/volley/kernels/kerneltest"
)

func TestMain(m *testing.M) { os.Exit(cuemu.Run(m)) }

// backends are the CUDA devices that are here, each with its kernels: emulated
// ones, unless the environment names a driver.
func backends(t testing.TB, options ...gpu.Option) []*kernels.Backend {
	t.Helper()
	infos, err := driver.List()
	switch {
	case err == nil:
	case cuemu.Missing() == "" || cuemu.Required() || !errors.Is(err, device.ErrUnavailable):
		t.Fatal(err)
	default:
		t.Logf("no CUDA here: %v", err)
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
		all = append(all, cuda.New(d, options...))
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
