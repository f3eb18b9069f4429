package host_test

import (
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/guard"
	"github.com/volley-go/volley/memory"
)

func TestDevice(t *testing.T) {
	devicetest.Run(t, func() device.Device { return host.New() })
}

// TestDeviceOnGuardedMemory runs the suite on memory that is looked at when it
// is freed: nothing may be written beside a buffer, freed twice, or left.
func TestDeviceOnGuardedMemory(t *testing.T) {
	for _, mode := range []guard.Mode{guard.Head, guard.Tail} {
		t.Run(mode.String(), func(t *testing.T) {
			a := guard.New(mode)
			count := memory.NewTraced(a)
			devicetest.Run(t, func() device.Device { return host.New(host.WithAllocator(count)) })
			if err := count.Check(); err != nil {
				t.Error(err)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
