package gpu

import (
	"context"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// Dialect is how one kind of device takes the kernels.
type Dialect struct {
	// Name is the name of the kernel set: "opencl", "cuda".
	Name string
	// Source is the source of a module by its name.
	Source func(module string) (device.Source, error)
	// Compile is the source of a kernel made at run time, whose text is in the
	// shared dialect without a prelude. It is nil where the device cannot compile.
	Compile func(name, text string) (device.Source, error)
}

// Engine runs the kernels on one device. All methods may be called from any
// goroutine.
type Engine struct {
	dev     device.Device
	dialect Dialect
	joins   joinTuning

	mu      sync.Mutex
	modules map[string]*module
}

// module is a module that is loaded, or being loaded, with its functions.
type module struct {
	mu        sync.Mutex
	loaded    device.Module
	functions map[string]device.Function
}

// Option tunes a backend. No option changes a result.
type Option func(*Engine)

// New makes the backend of a device: its kernels are compiled or loaded when
// they are first called. Closing the backend closes the device and with it
// everything that was loaded.
func New(dev device.Device, dialect Dialect, options ...Option) *kernels.Backend {
	e := &Engine{dev: dev, dialect: dialect, joins: defaultJoins, modules: map[string]*module{}}
	for _, o := range options {
		o(e)
	}
	return &kernels.Backend{Device: dev, Set: e.set()}
}

// function loads a module, unless it is loaded, and finds an entry in it. A
// load that fails is tried again by the next call.
func (e *Engine) function(ctx context.Context, name, entry string, source func() (device.Source, error)) (device.Function, error) {
	e.mu.Lock()
	m := e.modules[name]
	if m == nil {
		m = &module{functions: map[string]device.Function{}}
		e.modules[name] = m
	}
	e.mu.Unlock()

	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded == nil {
		src, err := source()
		if err != nil {
			return nil, err
		}
		if m.loaded, err = e.dev.LoadModule(ctx, src); err != nil {
			m.loaded = nil
			return nil, err
		}
	}
	if f := m.functions[entry]; f != nil {
		return f, nil
	}
	f, err := m.loaded.Function(entry)
	if err == nil {
		m.functions[entry] = f
	}
	return f, err
}
