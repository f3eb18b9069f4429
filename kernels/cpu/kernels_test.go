package cpu_test

import (
	"testing"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
)

// generic is the generic tier on a host device of its own.
func generic(t testing.TB) *kernels.Backend {
	d := host.New()
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return &kernels.Backend{Device: d, Set: cpu.Generic()}
}

func TestGeneric(t *testing.T) {
	kerneltest.Run(t, generic(t), kerneltest.Support("testdata/generic/support.txt"))
}

func BenchmarkGeneric(b *testing.B) { kerneltest.Bench(b, generic(b)) }
