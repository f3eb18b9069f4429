package volley_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/device"
)

func TestOpen(t *testing.T) {
	var usable []string
	best := ""
	for _, f := range volley.Devices() {
		if f.Err != nil {
			continue
		}
		usable = append(usable, f.Info.Name)
		if best == "" && !f.Info.Emulated {
			best = f.Info.Name
		}
	}
	for _, name := range append(usable, "auto") {
		b, err := volley.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		want := name
		if name == "auto" {
			want = best
		}
		if b.Device.Name() != want {
			t.Errorf("%s opened %s, not %s", name, b.Device.Name(), want)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "gpu", "cpu:1", "cuda:-1", "cuda:x", "opencl:01", "opencl:1000", "cuda:1000"} {
		if _, err := volley.Open(name); !errors.Is(err, device.ErrUnavailable) {
			t.Errorf("%q: %v is no ErrUnavailable", name, err)
		}
	}
	t.Setenv("VOLLEY_CPU", "none such")
	if _, err := volley.Open("cpu"); !errors.Is(err, device.ErrUnavailable) {
		t.Errorf("cpu with an unknown tier: %v", err)
	}
	if b, err := volley.Open("auto"); err == nil && b.Device.Name() == "cpu" || err != nil && !errors.Is(err, device.ErrUnavailable) {
		t.Errorf("auto with an unknown tier: %v", err)
	} else if err == nil {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if cpu := find(t, "cpu"); len(cpu) != 1 || !errors.Is(cpu[0].Err, device.ErrUnavailable) {
		t.Errorf("devices with an unknown tier: %v", cpu)
	}
}

func TestDevices(t *testing.T) {
	cpu := find(t, "cpu")
	if len(cpu) != 1 || cpu[0].Err != nil || cpu[0].Info.Name != "cpu" || cpu[0].Info.Units < 1 || cpu[0].Info.Tier == "" {
		t.Errorf("devices %+v", cpu)
	}
	for _, kind := range []string{"cuda", "opencl"} {
		all := find(t, kind)
		if len(all) == 0 {
			t.Errorf("nothing is said of %s", kind)
		}
		for i, f := range all {
			switch {
			case f.Err != nil && (!errors.Is(f.Err, device.ErrUnavailable) || len(all) > 1):
				t.Errorf("%s %d: %v", kind, i, f.Err)
			case f.Err == nil && (f.Info.Name != fmt.Sprintf("%s:%d", kind, i) || f.Info.Model == ""):
				t.Errorf("%s %d is %+v", kind, i, f.Info)
			}
		}
	}
	if volley.Version() == "" {
		t.Error("no version")
	}
}

// find is the devices of a kind.
func find(t *testing.T, kind string) []volley.Found {
	t.Helper()
	var all []volley.Found
	for _, f := range volley.Devices() {
		if f.Kind == kind {
			all = append(all, f)
		}
	}
	return all
}
