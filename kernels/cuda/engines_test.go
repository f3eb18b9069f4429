package cuda_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels/cuda"
)

// TestEngines opens the two ways of multiplying on a device: without the
// library there is ours, and the reason.
func TestEngines(t *testing.T) {
	for _, b := range backends(t) {
		t.Setenv("VOLLEY_CUBLAS_LIBRARY", "none")
		own := cuda.Own(b)
		if own.Device != b.Device || own.Set.GEMM.Func == nil || own.Set.GEMM.Types != b.Set.GEMM.Types {
			t.Errorf("%s: %+v", b.Device.Name(), own.Set.GEMM)
		}
		if _, err := cuda.BLAS(b.Device); !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), "VOLLEY_CUBLAS_LIBRARY") {
			t.Error(err)
		}
		t.Setenv("VOLLEY_CUBLAS_LIBRARY", "libvolley-has-no-such-library.so")
		if _, err := cuda.BLAS(b.Device); !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), "libvolley-has-no-such-library.so") {
			t.Error(err)
		}
	}
	if _, err := cuda.BLAS(host.New()); !errors.Is(err, device.ErrUnavailable) {
		t.Errorf("the host: %v", err)
	}
}
