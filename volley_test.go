package volley_test

import (
	"errors"
	"testing"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/device"
)

func TestOpen(t *testing.T) {
	for _, name := range []string{"auto", "cpu"} {
		b, err := volley.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if b.Device.Name() != "cpu" {
			t.Errorf("%s opened %s", name, b.Device.Name())
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "gpu", "cpu:1", "cuda:0"} {
		if _, err := volley.Open(name); !errors.Is(err, device.ErrUnavailable) {
			t.Errorf("%q: %v is no ErrUnavailable", name, err)
		}
	}
	t.Setenv("VOLLEY_CPU", "none such")
	for _, name := range []string{"auto", "cpu"} {
		if _, err := volley.Open(name); !errors.Is(err, device.ErrUnavailable) {
			t.Errorf("%s with an unknown tier: %v", name, err)
		}
	}
	if found := volley.Devices(); len(found) != 1 || !errors.Is(found[0].Err, device.ErrUnavailable) {
		t.Errorf("devices with an unknown tier: %v", found)
	}
}

func TestDevices(t *testing.T) {
	found := volley.Devices()
	if len(found) == 0 || found[0].Err != nil || found[0].Kind != "cpu" || found[0].Info.Name != "cpu" || found[0].Info.Units < 1 || found[0].Info.Tier == "" {
		t.Errorf("devices %+v", found)
	}
	if volley.Version() == "" {
		t.Error("no version")
	}
}
