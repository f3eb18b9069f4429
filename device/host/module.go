package host

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/volley-go/volley/device"
)

// module is a set of Go functions.
type module struct {
	device    *Device
	name      string
	functions map[string]device.HostFunction
	closed    atomic.Bool
}

type function struct {
	module *module
	name   string
	run    device.HostFunction
}

// LoadModule takes the functions of src.Host. A source without any is an
// ErrUnsupported: there is no compiler here for its text or image.
func (d *Device) LoadModule(ctx context.Context, src device.Source) (device.Module, error) {
	const call = "load module"
	if err := d.alive(call); err != nil {
		return nil, err
	}
	if err := device.Canceled(ctx, name, call); err != nil {
		return nil, err
	}
	if len(src.Host) == 0 {
		return nil, device.Errorf(device.ErrUnsupported, name, call, "%q has no host functions", src.Name)
	}
	for n, f := range src.Host {
		if f == nil {
			return nil, mismatch(call, "function %q of %q is nil", n, src.Name)
		}
	}
	return &module{device: d, name: src.Name, functions: maps.Clone(src.Host)}, nil
}

func (m *module) alive(call string) error {
	if m.closed.Load() {
		return device.Errorf(device.ErrClosed, name, call, "module %q is closed", m.name)
	}
	return nil
}

func (m *module) Function(want string) (device.Function, error) {
	if err := m.alive("function"); err != nil {
		return nil, err
	}
	f, ok := m.functions[want]
	if !ok {
		have := strings.Join(slices.Sorted(maps.Keys(m.functions)), ", ")
		return nil, device.Errorf(device.ErrUnavailable, name, "function", "no %q in module %q, which has %s", want, m.name, have)
	}
	return &function{module: m, name: want, run: f}, nil
}

func (m *module) Close() error {
	m.closed.Store(true)
	return nil
}

func (f *function) Name() string { return f.name }

func (f *function) Device() device.Device { return f.module.device }
