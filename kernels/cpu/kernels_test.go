package cpu_test

import (
	"testing"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
)

// backend is a tier on a host device of its own.
func backend(t testing.TB, set *kernels.Set) *kernels.Backend {
	d := host.New()
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return &kernels.Backend{Device: d, Set: set}
}

func generic(t testing.TB) *kernels.Backend { return backend(t, cpu.Generic()) }

// support is one list for all tiers: none may take a type less than another.
const support = "testdata/generic/support.txt"

func TestGeneric(t *testing.T) { kerneltest.Run(t, generic(t), kerneltest.Support(support)) }

func BenchmarkTier(b *testing.B) {
	for _, set := range cpu.Tiers() {
		b.Run("tier="+set.Name, func(b *testing.B) { kerneltest.Bench(b, backend(b, set)) })
	}
}
