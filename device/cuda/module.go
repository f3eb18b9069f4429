package cuda

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/volley-go/volley/device"
)

// module is code that the driver has loaded.
type module struct {
	device *Device
	name   string
	handle handle
	params map[string][]int64 // sizes of each kernel's parameters, from its PTX; nil if the code is a binary

	mu     sync.Mutex
	closed bool
	uses   int // launches that are not done; the last after Close unloads the code
}

// function is a kernel.
type function struct {
	module   *module
	name     string
	handle   handle
	params   []int64 // sizes
	maxItems int     // of a work-group, by the registers that the kernel uses
	local    int64   // static local memory

	mu      sync.Mutex
	allowed int // dynamic local memory that the driver was told to let it have
}

// LoadModule loads src.Image, which is PTX or a binary for this GPU, or compiles
// src.Text, CUDA C, with NVRTC. The driver compiles PTX and keeps the result in
// a cache of its own on disk. A failure carries the compiler's log. When ctx
// ends the call returns; the compiler goes on and what it makes is given back.
func (d *Device) LoadModule(ctx context.Context, src device.Source) (device.Module, error) {
	const call = "load module"
	if err := d.alive(call); err != nil {
		return nil, err
	}
	if err := device.Canceled(ctx, d.name, call); err != nil {
		return nil, err
	}
	if len(src.Image) == 0 && src.Text == "" {
		return nil, device.Errorf(device.ErrUnsupported, d.name, call, "%q has neither PTX nor CUDA C", src.Name)
	}
	type result struct {
		m   *module
		err error
	}
	done := make(chan result, 1)
	go func() {
		m, err := d.load(src)
		done <- result{m, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		return r.m, nil
	case <-ctx.Done():
		go func() {
			if r := <-done; r.m != nil {
				_ = r.m.Close() // never used; its loss would show elsewhere
			}
		}()
		return nil, device.Canceled(ctx, d.name, call)
	}
}

func (d *Device) load(src device.Source) (*module, error) {
	const call = "load module"
	image, ptx := src.Image, src.Image
	if len(image) == 0 {
		var err error
		if image, ptx, err = d.compile(src); err != nil {
			return nil, err
		}
	}
	m := &module{device: d, name: src.Name}
	if isText(ptx) {
		var err error
		if m.params, err = entries(ptx); err != nil {
			return nil, device.Errorf(device.ErrUnsupported, d.name, call, "%q: %v", src.Name, err)
		}
	} else if d.lib.driver.paramInfo == nil {
		return nil, device.Errorf(device.ErrUnsupported, d.name, call,
			"%q is a binary, and the driver (CUDA %s) does not tell the parameters of its kernels; CUDA 12.4 does, or give PTX", src.Name, versionText(d.lib.version))
	}
	var info, log string
	c := d.in(func() (c code) {
		m.handle, info, log, c = d.lib.driver.moduleLoad(append(slices.Clone(image), 0)) // PTX ends with a NUL byte
		return c
	})
	if c != success {
		return nil, d.loadFailure(call, src.Name, c, info, log)
	}
	d.mu.Lock()
	closed := d.closed.Load()
	if !closed {
		d.modules[m] = struct{}{}
	}
	d.mu.Unlock()
	if closed {
		_ = m.Close()
		return nil, d.closedError(call)
	}
	return m, nil
}

// loadFailure is a failed load with what the driver's compiler wrote.
func (d *Device) loadFailure(call, name string, c code, logs ...string) error {
	if c.lost() || c == errorTornDown {
		return d.check(call, c)
	}
	text := name + ": " + d.lib.driver.text(c)
	for _, log := range logs {
		if log = strings.TrimSpace(log); log != "" {
			text += "\n" + log
		}
	}
	kind := c.kind()
	if kind == device.ErrMismatch || kind == nil { // the image is the only argument
		kind = device.ErrUnsupported
	}
	return &device.Error{Device: d.name, Call: call, Code: int(c), Text: text, Kind: kind}
}

func (m *module) alive(call string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return device.Errorf(device.ErrClosed, m.device.name, call, "module %q is closed", m.name)
	}
	return nil
}

func (m *module) Function(want string) (device.Function, error) {
	const call = "function"
	d, drv := m.device, m.device.lib.driver
	if err := m.alive(call); err != nil {
		return nil, err
	}
	f := &function{module: m, name: want}
	c := d.in(func() (c code) {
		if f.handle, c = drv.moduleGet(m.handle, want); c != success {
			return c
		}
		if f.maxItems, c = drv.funcGet(functionMaxThreads, f.handle); c != success {
			return c
		}
		local, c := drv.funcGet(functionLocal, f.handle)
		f.local = int64(local)
		if drv.paramInfo == nil || c != success {
			return c
		}
		f.params, c = parameters(drv, f.handle)
		return c
	})
	if c.kind() == device.ErrUnavailable {
		return nil, &device.Error{Device: d.name, Call: call, Code: int(c), Kind: device.ErrUnavailable, Text: "no kernel " + want + " in module " + m.name}
	}
	if err := d.check(call, c); err != nil {
		return nil, err
	}
	if drv.paramInfo == nil {
		sizes, ok := m.params[want]
		if !ok {
			return nil, device.Errorf(device.ErrUnavailable, d.name, call, "%s is no kernel of module %s", want, m.name)
		}
		f.params = sizes
	}
	return f, nil
}

// parameters asks the driver for the sizes of a kernel's parameters.
func parameters(drv *driver, f handle) ([]int64, code) {
	var sizes []int64
	for {
		_, size, c := drv.paramInfo(f, len(sizes))
		switch c {
		case success:
			sizes = append(sizes, size)
		case errorInvalidValue: // beyond the last
			return sizes, success
		default:
			return nil, c
		}
	}
}

// use is alive for a launch, which keeps the code until drop.
func (m *module) use(call string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return device.Errorf(device.ErrClosed, m.device.name, call, "module %q is closed", m.name)
	}
	m.uses++
	return nil
}

// drop undoes use.
func (m *module) drop() {
	m.mu.Lock()
	m.uses--
	last := m.closed && m.uses == 0
	m.mu.Unlock()
	if last {
		_ = m.unload() // a loss that shows here is kept by the device
	}
}

// Close unloads the code once the launches that were given before are done.
func (m *module) Close() error {
	m.mu.Lock()
	unload := !m.closed && m.uses == 0
	m.closed = true
	m.mu.Unlock()
	if !unload {
		return nil
	}
	return m.unload()
}

func (m *module) unload() error {
	d := m.device
	d.mu.Lock()
	delete(d.modules, m)
	d.mu.Unlock()
	c := d.in(func() code { return d.lib.driver.moduleUnload(m.handle) })
	if c == errorTornDown || d.lostError() != nil {
		return nil // the code went with the context
	}
	return d.check("unload module", c)
}

func (f *function) Name() string { return f.name }

func (f *function) Device() device.Device { return f.module.device }
