package devicetest_test

import (
	"errors"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/memory"
)

var elsewhere = memory.Place{Type: memory.OpenCL, ID: 7}

func TestRemoteIsADevice(t *testing.T) {
	devicetest.Run(t, func() device.Device { return devicetest.NewRemote(elsewhere) })
}

func TestRemoteHidesItsMemory(t *testing.T) {
	r := devicetest.NewRemote(elsewhere)
	b, err := memory.New(r.Memory(), 100)
	if err != nil {
		t.Fatal(err)
	}
	handle, _ := b.Handle()
	if b.Bytes() != nil || handle == 0 || b.Place() != elsewhere || r.InUse() != 100 {
		t.Errorf("bytes %v, handle %d, on %s, %d bytes in use", b.Bytes() != nil, handle, b.Place(), r.InUse())
	}
	r.LimitMemory(120)
	if _, err := memory.New(r.Memory(), 21); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("beyond the limit: %v", err)
	}
	b.Release()
	if r.InUse() != 0 {
		t.Errorf("%d bytes in use after all were released", r.InUse())
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
