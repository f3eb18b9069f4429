package opencl

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// fakeCL is an OpenCL whose commands are done when they are enqueued, with
// faults on request. It counts what is not given back.
type fakeCL struct {
	mu      sync.Mutex
	last    handle
	objects map[handle]any
	taken   int64 // bytes of buffers that were used

	platforms []fakePlatform
	capacity  int64         // bytes of each device; commands that use more fail
	noCode    bool          // programs give no binary
	buildLog  string        // not empty: builds fail with it
	building  chan struct{} // not nil: a build closes begun and waits until it is closed
	begun     chan struct{}
	fault     func(kernel string) status // of launches, when they run; may be nil
	refuse    func(call string) status   // of calls by the names of driver's fields; may be nil
	builds    int                        // from source
	loads     int                        // of binaries
	binaries  int                        // asked for
	options   string                     // of the last build
}

type fakePlatform struct {
	name, version string
	devices       []fakeDevice
}

type fakeDevice struct {
	kind    uint64
	name    string
	version string
	singles uint64          // what it can do with float32
	without map[uint32]bool // queries that fail
}

type (
	fakeContext struct{ dev handle }
	fakeQueue   struct{ context handle }
	fakeBuffer  struct {
		bytes []byte
		used  bool
		of    handle // a sub-buffer's buffer
	}
	fakeProgram struct{ text string }
	fakeKernel  struct {
		name   string
		params []string
		args   [][]byte
	}
	fakeEvent struct{ st status }
)

// newFake is a platform with two devices, which behave.
func newFake() *fakeCL {
	return &fakeCL{
		objects:  make(map[handle]any),
		capacity: 1 << 30,
		platforms: []fakePlatform{{name: "fake", version: "OpenCL 3.0 fake", devices: []fakeDevice{
			{kind: deviceTypeGPU, name: "first", version: "OpenCL 1.2"}, {kind: deviceTypeGPU, name: "second", version: "OpenCL 1.2"},
		}}},
	}
}

func (f *fakeCL) system(t *testing.T) *system {
	t.Helper()
	t.Setenv("VOLLEY_CACHE", t.TempDir())
	s, err := newSystem(f.driver())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// left counts what was not given back, by kind.
func (f *fakeCL) left() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := make(map[string]int)
	for _, o := range f.objects {
		counts[fmt.Sprintf("%T", o)]++
	}
	return counts
}

func (f *fakeCL) add(o any) handle {
	f.last++
	f.objects[f.last] = o
	return f.last
}

// call guards a function of the driver, and refuses it where that was asked.
func (f *fakeCL) call(name string, do func() status) status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		if st := f.refuse(name); st != success {
			return st
		}
	}
	return do()
}

func (f *fakeCL) make(name string, do func() any) (h handle, st status) {
	st = f.call(name, func() status {
		h = f.add(do())
		return success
	})
	return h, st
}

func (f *fakeCL) drop(name string, h handle) status {
	return f.call(name, func() status {
		if _, ok := f.objects[h]; !ok {
			return -30
		}
		delete(f.objects, h)
		return success
	})
}

// enqueue runs a command; its outcome is the event's.
func (f *fakeCL) enqueue(name string, do func() status) (h handle, st status) {
	st = f.call(name, func() status {
		h = f.add(&fakeEvent{do()})
		return success
	})
	return h, st
}

// use is a buffer's bytes; the first use of it takes memory.
func (f *fakeCL) use(mem handle) ([]byte, status) {
	b, ok := f.objects[mem].(*fakeBuffer)
	if !ok {
		return nil, -38
	}
	if b.of != 0 {
		return b.bytes, success
	}
	if !b.used {
		if f.taken+int64(len(b.bytes)) > f.capacity {
			return nil, memAllocationFailure
		}
		b.used = true
		f.taken += int64(len(b.bytes))
	}
	return b.bytes, success
}

var fakeEntry = regexp.MustCompile(`kernel void (\w+)\(([^)]*)\)`)

func (f *fakeCL) kernel(text, name string) *fakeKernel {
	for _, m := range fakeEntry.FindAllStringSubmatch(text, -1) {
		if m[1] == name {
			k := &fakeKernel{name: name}
			if m[2] != "" {
				k.params = strings.Split(m[2], ",")
			}
			k.args = make([][]byte, len(k.params))
			return k
		}
	}
	return nil
}

// size is that of a parameter's argument.
func (k *fakeKernel) size(i uint32) int {
	switch p := k.params[i]; {
	case strings.Contains(p, "*"), strings.Contains(p, "long"), strings.Contains(p, "double"):
		return 8
	case strings.Contains(p, "int"), strings.Contains(p, "float"):
		return 4
	default:
		return 1
	}
}

// run is the kernels of the suite, which have one buffer.
func (f *fakeCL) run(k *fakeKernel, global []uintptr) status {
	if f.fault != nil {
		if st := f.fault(k.name); st != success {
			return st
		}
	}
	items := uintptr(1)
	for _, n := range global {
		items *= n
	}
	for i, p := range k.params {
		if !strings.Contains(p, "*") {
			continue
		}
		mem := handle(binary.NativeEndian.Uint64(k.args[i]))
		if mem == 0 {
			continue
		}
		bytes, st := f.use(mem)
		if st != success {
			return st
		}
		for n := range items {
			at := bytes[8*n : 8*n+8]
			switch k.name {
			case "ordinals":
				binary.NativeEndian.PutUint64(at, uint64(n))
			case "twice":
				binary.NativeEndian.PutUint64(at, 2*binary.NativeEndian.Uint64(at))
			}
		}
	}
	return success
}

// queries of devices.
func (f *fakeCL) deviceInfo(dev handle, key uint32) ([]byte, status) {
	n := int(dev)
	var d fakeDevice
	for _, p := range f.platforms {
		if n <= len(p.devices) {
			d = p.devices[n-1]
			break
		}
		n -= len(p.devices)
	}
	if d.without[key] {
		return nil, -30
	}
	word := func(v uint64) ([]byte, status) { return binary.NativeEndian.AppendUint64(nil, v), success }
	switch key {
	case deviceType:
		return word(d.kind)
	case deviceName:
		return []byte(d.name + "\x00"), success
	case deviceVersion:
		return []byte(d.version + "\x00"), success
	case deviceVendor, driverVersion, deviceExtensions:
		return []byte("fake\x00"), success
	case deviceSingleFPConfig:
		return word(d.singles)
	case deviceGlobalMemSize:
		return word(uint64(f.capacity))
	case deviceMaxMemAllocSize:
		return word(uint64(f.capacity / 2))
	case deviceLocalMemSize:
		return word(32 << 10)
	case deviceMemBaseAddrAlign:
		return word(1024)
	case deviceMaxWorkGroupSize:
		return word(256)
	case deviceAvailable, deviceCompilerAvailable, deviceEndianLittle, deviceMaxComputeUnits:
		return binary.NativeEndian.AppendUint32(nil, 1), success
	case deviceMaxWorkItemSizes:
		return slices.Repeat(binary.NativeEndian.AppendUint64(nil, 256), 3), success
	}
	return nil, -30
}

// argument keeps the value of an argument, as clSetKernelArg checks it.
func (k *fakeKernel) argument(i uint32, size uintptr, value unsafe.Pointer) status {
	switch {
	case int(i) >= len(k.params):
		return invalidArgIndex
	case strings.Contains(k.params[i], "local") != (value == nil):
		return invalidArgValue
	case value == nil:
		k.args[i] = nil
		return success
	case int(size) != k.size(i):
		return invalidArgSize
	}
	k.args[i] = slices.Clone(unsafe.Slice((*byte)(value), size))
	return success
}
