package opencl

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
)

// module is a built program. It is given back with its last use.
type module struct {
	device  *Device
	name    string
	program handle
	closed  atomic.Bool

	mu        sync.Mutex
	uses      int // the module itself, and kernels that are out
	functions []*function
}

// LoadModule builds src.Text with src.Defines as macros, or takes what was
// built from the same for the same device and driver from the cache on disk: a
// folder of the user's, or of VOLLEY_CACHE, which may be "off". A failed build
// is an ErrUnsupported with the compiler's log.
func (d *Device) LoadModule(ctx context.Context, src device.Source) (device.Module, error) {
	const call = "load module"
	if err := d.alive(call); err != nil {
		return nil, err
	}
	if err := device.Canceled(ctx, d.Name(), call); err != nil {
		return nil, err
	}
	if src.Text == "" {
		return nil, device.Errorf(device.ErrUnsupported, d.Name(), call, "%q has no text in OpenCL C", src.Name)
	}
	program, err := d.core.build(ctx, src)
	if err != nil {
		return nil, err
	}
	m := &module{device: d, name: src.Name, program: program, uses: 1}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Load() {
		m.release()
		return nil, d.alive(call)
	}
	d.modules[m] = struct{}{}
	return m, nil
}

func (m *module) alive(call string) error {
	if m.closed.Load() {
		return device.Errorf(device.ErrClosed, m.device.Name(), call, "module %q is closed", m.name)
	}
	return m.device.alive(call)
}

func (m *module) Function(want string) (device.Function, error) {
	if err := m.alive("function"); err != nil {
		return nil, err
	}
	c := m.device.core
	kernel, st := c.drv.createKernel(m.program, want)
	if st == invalidKernelName {
		return nil, device.Errorf(device.ErrUnavailable, m.device.Name(), "function", "no %q in module %q", want, m.name)
	}
	if st != success {
		return nil, c.failed("clCreateKernel", st)
	}
	f := &function{module: m, name: want, free: []handle{kernel}}
	if err := f.describe(kernel); err != nil {
		c.drv.releaseKernel(kernel)
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.uses == 0 {
		c.drv.releaseKernel(kernel)
		return nil, device.Errorf(device.ErrClosed, m.device.Name(), "function", "module %q is closed", m.name)
	}
	m.functions = append(m.functions, f)
	return f, nil
}

// Close gives the program back when launches that wait to be issued are.
func (m *module) Close() error {
	if m.closed.CompareAndSwap(false, true) {
		m.device.mu.Lock()
		delete(m.device.modules, m)
		m.device.mu.Unlock()
		m.release()
	}
	return nil
}

// retain counts a kernel that is out; it is false once the program is gone.
func (m *module) retain() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.uses == 0 {
		return false
	}
	m.uses++
	return true
}

func (m *module) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.uses--; m.uses > 0 {
		return
	}
	drv := m.device.core.drv
	for _, f := range m.functions {
		for _, kernel := range f.free {
			drv.releaseKernel(kernel)
		}
		f.free = nil
	}
	drv.releaseProgram(m.program)
}

// function is one kernel of a module. A cl_kernel holds its arguments, so each
// launch that is being prepared has one of its own.
type function struct {
	module *module
	name   string
	args   int   // parameters
	group  int64 // work-items of a group at most
	local  int64 // bytes of local memory that a group takes without Grid.Local

	free []handle // kernels that nobody uses; guarded by module.mu
}

func (f *function) Name() string { return f.name }

func (f *function) Device() device.Device { return f.module.device }

func (f *function) describe(kernel handle) error {
	c := f.module.device.core
	n, st := c.drv.getKernelNumArgs(kernel)
	if st != success {
		return c.failed("clGetKernelInfo", st)
	}
	f.args = int(n)
	f.group = int64(c.proc.info.MaxGroup)
	if n, st := c.drv.getKernelWorkGroupInfo(kernel, c.proc.id, kernelWorkGroupSize); st == success && n > 0 {
		f.group = min(f.group, int64(n))
	}
	if n, st := c.drv.getKernelWorkGroupInfo(kernel, c.proc.id, kernelLocalMemSize); st == success {
		f.local = int64(n)
	}
	return nil
}

// take gives a cl_kernel for one launch.
func (f *function) take() (handle, error) {
	m := f.module
	if !m.retain() {
		return 0, m.alive(f.name)
	}
	m.mu.Lock()
	if n := len(f.free); n > 0 {
		kernel := f.free[n-1]
		f.free = f.free[:n-1]
		m.mu.Unlock()
		return kernel, nil
	}
	m.mu.Unlock()
	kernel, st := m.device.core.drv.createKernel(m.program, f.name)
	if st != success {
		m.release()
		return 0, m.device.core.failed("clCreateKernel", st)
	}
	return kernel, nil
}

// put takes it back once the launch is issued: the driver has the arguments.
func (f *function) put(kernel handle) {
	const keep = 8
	m := f.module
	m.mu.Lock()
	if len(f.free) < keep {
		f.free = append(f.free, kernel)
		kernel = 0
	}
	m.mu.Unlock()
	if kernel != 0 {
		m.device.core.drv.releaseKernel(kernel)
	}
	m.release()
}
