package opencl

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/memory"
)

// suiteKernels are the functions of package devicetest, as far as the fake
// reads them.
var suiteKernels = device.Source{Name: "devicetest", Text: `
kernel void ordinals(global long *out) { ... }
kernel void twice(global long *out) { ... }
kernel void mixed(global long *out, char c, int i, local long *scratch) { ... }
`}

func (f *fakeCL) open(t *testing.T, s *system, index int, opts ...Option) *Device {
	t.Helper()
	d, err := s.open(index, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says fails unless err is of the kind and tells each of the words.
func says(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got %v, want: %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// TestFake holds the fake, with this package on it, to the contracts, and looks
// for what is not given back.
func TestFake(t *testing.T) {
	f := newFake()
	s := f.system(t)
	devicetest.RunWith(t, func() device.Device { return f.open(t, s, 1) }, suiteKernels)
	if left := f.left(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestListSaysWhy(t *testing.T) {
	good := fakeDevice{kind: deviceTypeGPU, name: "card", version: "OpenCL 1.2"}
	for name, c := range map[string]struct {
		platforms []fakePlatform
		words     []string
	}{
		"no platform":  {nil, []string{"no OpenCL driver"}},
		"old platform": {[]fakePlatform{{"ancient", "OpenCL 1.1 x", []fakeDevice{good}}}, []string{"ancient", "OpenCL 1.1 x", "too old"}},
		"no device":    {[]fakePlatform{{"empty", "OpenCL 1.2", nil}}, []string{"empty", "no device"}},
		"old device": {[]fakePlatform{{"p", "OpenCL 3.0", []fakeDevice{{kind: deviceTypeGPU, name: "old card", version: "OpenCL 1.0"}}}},
			[]string{"old card", "OpenCL 1.0", "too old"}},
		"no compiler": {[]fakePlatform{{"p", "OpenCL 3.0", []fakeDevice{{kind: deviceTypeGPU, name: "small", version: "OpenCL 1.2",
			without: map[uint32]bool{deviceCompilerAvailable: true}}}}}, []string{"small", "no compiler"}},
		"in use": {[]fakePlatform{{"p", "OpenCL 3.0", []fakeDevice{{kind: deviceTypeGPU, name: "busy", version: "OpenCL 1.2",
			without: map[uint32]bool{deviceAvailable: true}}}}}, []string{"busy", "not available"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.platforms = c.platforms
			_, err := newSystem(f.driver())
			says(t, err, device.ErrUnavailable, c.words...)
		})
	}
	f := newFake()
	f.refuse = func(call string) status {
		if call == "getPlatformIDs" {
			return outOfHostMemory
		}
		return success
	}
	_, err := newSystem(f.driver())
	says(t, err, device.ErrUnavailable, "clGetPlatformIDs", "CL_OUT_OF_HOST_MEMORY", "-6")
}

// TestOrder puts GPUs before CPUs and numbers what can be used.
func TestOrder(t *testing.T) {
	f := newFake()
	f.platforms = []fakePlatform{
		{"one", "OpenCL 3.0", []fakeDevice{{kind: deviceTypeCPU, name: "cpu", version: "OpenCL 3.0"}, {kind: deviceTypeGPU, name: "old", version: "OpenCL 1.1"}}},
		{"two", "OpenCL 1.2", []fakeDevice{{kind: deviceTypeAccelerator, name: "board", version: "OpenCL 1.2"}, {kind: deviceTypeGPU, name: "card", version: "OpenCL 1.2"}}},
	}
	s := f.system(t)
	infos := s.list()
	if len(infos) != 3 || infos[0].Model != "card" || infos[1].Model != "board" || infos[2].Model != "cpu" {
		t.Fatalf("%+v", infos)
	}
	if infos[0].Name != "opencl:0" || infos[0].Emulated || !infos[2].Emulated {
		t.Fatalf("%+v", infos)
	}
	_, err := s.open(3)
	says(t, err, device.ErrUnavailable, "opencl:3", "3 OpenCL devices", "old", "too old")
}

// TestOutOfMemory asks for more than there is: of one buffer, of all, and of
// what the driver only finds out when the buffer is first used.
func TestOutOfMemory(t *testing.T) {
	f := newFake()
	f.capacity = 1 << 20
	s := f.system(t)
	d := f.open(t, s, 0)
	defer d.Close()
	_, err := memory.New(d.Memory(), 600<<10)
	says(t, err, device.ErrOutOfMemory, "614400 bytes requested", "1048576 free", "allows 524288 bytes for one buffer")
	a, err := memory.New(d.Memory(), 500<<10)
	must(t, err)
	b, err := memory.New(d.Memory(), 400<<10)
	must(t, err)
	_, err = memory.New(d.Memory(), 300<<10)
	says(t, err, device.ErrOutOfMemory, "307200 bytes requested", "126976 free")
	var oom *memory.OutOfMemory
	if !errors.As(err, &oom) || oom.Requested != 300<<10 || oom.InUse != 900<<10 {
		t.Errorf("%+v", oom)
	}
	a.Release() // kept for reuse, and given back when there is need
	c, err := memory.New(d.Memory(), 300<<10)
	must(t, err)
	other := f.open(t, s, 1) // of the same memory, as the fake has it: 700 KiB are used
	defer other.Close()
	_, err = memory.New(other.Memory(), 500<<10)
	says(t, err, device.ErrOutOfMemory, "512000 bytes requested", "CL_MEM_OBJECT_ALLOCATION_FAILURE")
	b.Release()
	d.Memory().(*allocator).Trim()
	again, err := memory.New(other.Memory(), 500<<10)
	must(t, err) // later work goes on
	again.Release()
	c.Release()
	small := f.open(t, s, 0, WithMemoryLimit(1000))
	defer small.Close()
	_, err = memory.New(small.Memory(), 1001)
	says(t, err, device.ErrOutOfMemory, "1001 bytes requested")
}

// TestLost loses a device in a launch: the error names it, stays, and is that
// of all streams; another device goes on, and the device may be opened again.
func TestLost(t *testing.T) {
	f := newFake()
	s := f.system(t)
	d, healthy := f.open(t, s, 0), f.open(t, s, 1)
	defer healthy.Close()
	broken := false
	f.fault = func(kernel string) status {
		if kernel == "twice" && !broken {
			broken = true
			return outOfResources
		}
		return success
	}
	twice, ordinals := suiteFunction(t, d, "twice"), suiteFunction(t, d, "ordinals")
	st, err := d.NewStream()
	must(t, err)
	other, err := d.NewStream()
	must(t, err)
	x, err := memory.New(d.Memory(), 64)
	must(t, err)
	e, err := d.NewEvent()
	must(t, err)
	gate := make(chan struct{})
	must(t, st.Call("gate", func() error { <-gate; return nil }))
	must(t, st.Launch(ordinals, device.Grid{}, x))
	must(t, st.Launch(twice, device.Grid{}, x))
	must(t, st.Record(e))
	must(t, other.WaitEvent(e))
	must(t, other.Launch(ordinals, device.Grid{}, x))
	close(gate)
	for range 2 {
		says(t, st.Wait(context.Background()), device.ErrLost, "opencl:0", "twice", "CL_OUT_OF_RESOURCES", "-5")
	}
	says(t, other.Wait(context.Background()), device.ErrLost, "twice")
	says(t, other.Launch(ordinals, device.Grid{}, x), device.ErrLost, "twice")
	says(t, st.Launch(ordinals, device.Grid{}, x), device.ErrLost, "twice")
	_, err = d.NewStream()
	says(t, err, device.ErrLost, "twice")
	_, err = memory.New(d.Memory(), 8)
	says(t, err, device.ErrLost, "twice")
	if x.Refs() != 1 {
		t.Errorf("%d references", x.Refs())
	}
	runSuiteKernel(t, healthy)
	waitFor(t, func() bool { cores.mu.Lock(); defer cores.mu.Unlock(); return cores.live[d.core.key()] != d.core })
	again := f.open(t, s, 0)
	runSuiteKernel(t, again)
	must(t, again.Close())
	x.Release()
	must(t, d.Close())
}

// TestLaunchHolds lets go of a launch's arguments before it runs: their memory
// must not be given out again until it is done.
func TestLaunchHolds(t *testing.T) {
	f := newFake()
	d := f.open(t, f.system(t), 0)
	defer d.Close()
	st, err := d.NewStream()
	must(t, err)
	twice := suiteFunction(t, d, "twice")
	x, err := memory.New(d.Memory(), 4096)
	must(t, err)
	part, err := x.Slice(1024, 64)
	must(t, err)
	first, _ := x.Handle()
	gate := make(chan struct{})
	must(t, st.Call("gate", func() error { <-gate; return nil }))
	must(t, st.Launch(twice, device.Grid{}, x))
	must(t, st.Launch(twice, device.Grid{}, device.Base{Buffer: x}))
	must(t, st.Launch(twice, device.Grid{}, part))
	part.Release()
	x.Release()
	y, err := memory.New(d.Memory(), 4096)
	must(t, err)
	if h, _ := y.Handle(); h == first {
		t.Error("the memory of a launch that waits was given out again")
	}
	close(gate)
	must(t, st.Wait(t.Context()))
	z, err := memory.New(d.Memory(), 4096)
	must(t, err)
	if h, _ := z.Handle(); h != first {
		t.Error("the memory of a launch that is done was not given back")
	}
	y.Release()
	z.Release()
	must(t, st.Close())
	must(t, d.Close())
	if left := f.left(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestEnqueueFails has the driver refuse a launch: the stream fails there, in
// order, and the device is not lost.
func TestEnqueueFails(t *testing.T) {
	f := newFake()
	d := f.open(t, f.system(t), 0)
	defer d.Close()
	f.refuse = func(call string) status {
		if call == "enqueueNDRangeKernel" {
			return outOfHostMemory
		}
		return success
	}
	st, err := d.NewStream()
	must(t, err)
	x, err := memory.New(d.Memory(), 64)
	must(t, err)
	must(t, st.Launch(suiteFunction(t, d, "ordinals"), device.Grid{}, x))
	says(t, st.Wait(context.Background()), device.ErrOutOfMemory, "ordinals", "CL_OUT_OF_HOST_MEMORY")
	f.refuse = nil
	runSuiteKernel(t, d)
	x.Release()
}

func TestBuildFails(t *testing.T) {
	f := newFake()
	d := f.open(t, f.system(t), 0)
	defer d.Close()
	f.buildLog = "line 7: no such thing"
	_, err := d.LoadModule(t.Context(), suiteKernels)
	says(t, err, device.ErrUnsupported, "build devicetest", "CL_BUILD_PROGRAM_FAILURE", "line 7: no such thing", "-11")
	f.buildLog = ""
	runSuiteKernel(t, d)
}

// TestBuildCanceled leaves a build that does not end by itself; what it holds
// is given back when it has ended.
func TestBuildCanceled(t *testing.T) {
	f := newFake()
	d := f.open(t, f.system(t), 0)
	f.building, f.begun = make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-f.begun
		cancel()
	}()
	_, err := d.LoadModule(ctx, suiteKernels)
	says(t, err, device.ErrCanceled, "build devicetest")
	must(t, d.Close())
	if left := f.left(); left["*opencl.fakeContext"] != 1 {
		t.Errorf("the context of a build that goes on is gone: %v", left)
	}
	close(f.building)
	waitFor(t, func() bool { return len(f.left()) == 0 })
}

// TestProgramCache builds once, loads after, and builds again what the driver
// does not take.
func TestProgramCache(t *testing.T) {
	f := newFake()
	d := f.open(t, f.system(t), 0)
	defer d.Close()
	load := func(src device.Source, builds, loads int) {
		t.Helper()
		m, err := d.LoadModule(t.Context(), src)
		must(t, err)
		must(t, m.Close())
		if f.builds != builds || f.loads != loads {
			t.Errorf("%d builds and %d loads, want %d and %d", f.builds, f.loads, builds, loads)
		}
	}
	load(suiteKernels, 1, 0)
	load(suiteKernels, 1, 1)
	defined := suiteKernels
	defined.Defines = map[string]string{"B": "2", "A": ""}
	load(defined, 2, 1)
	load(defined, 2, 2)
	if o := buildOptions("-cl-std=CL1.2", defined.Defines); o != "-cl-std=CL1.2 -D A -D B=2" {
		t.Errorf("options %q", o)
	}
	f.refuse = func(call string) status {
		if call == "createProgramWithBinary" {
			return invalidBinary
		}
		return success
	}
	load(defined, 3, 2)
}

// TestNoBinaryOfPoCL has PoCL's own cache keep programs: a program's binary costs as
// much there as all its entries.
func TestNoBinaryOfPoCL(t *testing.T) {
	t.Setenv("VOLLEY_CACHE", t.TempDir())
	for name, loads := range map[string]int{"fake": 1, pocl: 0} {
		f := newFake()
		f.platforms[0].name = name
		d := f.open(t, f.system(t), 0)
		for range 2 {
			m, err := d.LoadModule(t.Context(), suiteKernels)
			must(t, err)
			must(t, m.Close())
		}
		if f.loads != loads || f.builds != 2-loads || f.binaries != loads {
			t.Errorf("%s: %d builds, %d loads, %d binaries", name, f.builds, f.loads, f.binaries)
		}
		must(t, d.Close())
	}
}

// TestCanceledBetweenLaunches ends a device's context: what was launched and
// has not begun does not run.
func TestCanceledBetweenLaunches(t *testing.T) {
	f := newFake()
	ctx, cancel := context.WithCancelCause(t.Context())
	d := f.open(t, f.system(t), 0, WithContext(ctx))
	defer d.Close()
	st, err := d.NewStream()
	must(t, err)
	ran := 0
	f.fault = func(string) status { ran++; return success }
	fn := suiteFunction(t, d, "ordinals")
	x, err := memory.New(d.Memory(), 64)
	must(t, err)
	must(t, st.Launch(fn, device.Grid{}, x))
	must(t, st.Wait(t.Context()))
	gate := make(chan struct{})
	must(t, st.Call("gate", func() error { <-gate; return nil }))
	must(t, st.Launch(fn, device.Grid{}, x))
	why := errors.New("the user left")
	cancel(why)
	close(gate)
	err = st.Wait(context.Background())
	says(t, err, device.ErrCanceled, "ordinals")
	if !errors.Is(err, why) || ran != 1 {
		t.Errorf("%v; %d ran", err, ran)
	}
	x.Release()
}

func suiteFunction(t *testing.T, d *Device, name string) device.Function {
	t.Helper()
	m, err := d.LoadModule(t.Context(), suiteKernels)
	must(t, err)
	fn, err := m.Function(name)
	must(t, err)
	return fn
}

// runSuiteKernel shows that the device works.
func runSuiteKernel(t *testing.T, d *Device) {
	t.Helper()
	m, err := d.LoadModule(t.Context(), suiteKernels)
	must(t, err)
	defer m.Close()
	fn, err := m.Function("ordinals")
	must(t, err)
	st, err := d.NewStream()
	must(t, err)
	x, err := memory.New(d.Memory(), 80)
	must(t, err)
	h, err := memory.New(d.Pinned(), 80)
	must(t, err)
	must(t, st.Launch(fn, device.Grid{Groups: [3]int64{10}}, x))
	must(t, st.Copy(h, 0, x, 0, 80))
	must(t, st.Wait(t.Context()))
	if h.Bytes()[72] != 9 {
		t.Errorf("the kernel gave %v", h.Bytes())
	}
	x.Release()
	h.Release()
	must(t, st.Close())
}

func waitFor(t *testing.T, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to that")
		}
	}
}

// TestQuotients asks for right quotients of float32 where a GPU can and would
// not give them unasked.
func TestQuotients(t *testing.T) {
	const asked = "-cl-fp32-correctly-rounded-divide-sqrt"
	for _, c := range []struct {
		device fakeDevice
		want   bool
	}{
		{fakeDevice{kind: deviceTypeGPU, singles: fpCorrectlyRoundedDivideSqrt | 2}, true},
		{fakeDevice{kind: deviceTypeGPU, singles: 2}, false},
		{fakeDevice{kind: deviceTypeCPU, singles: fpCorrectlyRoundedDivideSqrt | 2}, false},
	} {
		f := newFake()
		c.device.name, c.device.version = "one", "OpenCL 1.2"
		f.platforms[0].devices = []fakeDevice{c.device}
		d := f.open(t, f.system(t), 0)
		m, err := d.LoadModule(t.Context(), suiteKernels)
		must(t, err)
		must(t, m.Close())
		must(t, d.Close())
		if got := strings.Contains(f.options, asked); got != c.want {
			t.Errorf("%+v: options %q", c.device, f.options)
		}
	}
}
