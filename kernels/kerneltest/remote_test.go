package kerneltest_test

import (
	"testing"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

func remote(t *testing.T, set *kernels.Set) *kernels.Backend {
	b := kerneltest.Remote(memory.Place{Type: memory.OpenCL, ID: 3}, set)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// The suite holds kernels to the reference on a device whose memory the host
// cannot address, and sees errors that are planted there.
func TestSuiteOnRemoteDevice(t *testing.T) {
	kerneltest.Run(t, remote(t, cpu.Generic()), kerneltest.Size(kerneltest.Tiny))
}

func TestPlantedOnRemoteDevice(t *testing.T) { kerneltest.Planted(t, remote(t, cpu.Generic())) }
