package cuda

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/volley-go/volley/memory"
)

// fake is a CUDA driver of Go memory. Its functions do their work at once; an
// event is reached when it is recorded, unless held says otherwise.
type fake struct {
	t    testing.TB
	drv  *driver
	mu   sync.Mutex
	next handle

	gpus     int
	capacity int64 // bytes of each GPU's memory
	used     int64
	kept     int64 // of it by the pools, for reuse
	blocks   map[address][]byte
	host     map[unsafe.Pointer][]byte
	live     map[string]int // handles that are out, by kind
	calls    map[string]int
	pushed   int
	reached  map[handle]time.Time
	images   map[handle][]byte
	lastCopy string

	fault func(call string) code // result of a call in place of its work; nil: none
	held  bool                   // no event is reached
	lost  code                   // what every call of a context returns
	log   string                 // of the driver's compiler
}

// newFake makes a driver of two GPUs. Tests change its fields before Open.
func newFake(t testing.TB) *fake {
	f := &fake{t: t, gpus: 2, capacity: 1 << 30, next: 1000, blocks: map[address][]byte{}, host: map[unsafe.Pointer][]byte{},
		live: map[string]int{}, calls: map[string]int{}, reached: map[handle]time.Time{}, images: map[handle][]byte{}}
	f.drv = &driver{library: "fake"}
	f.devices()
	f.streams()
	f.memory()
	f.modules()
	f.pools()
	t.Cleanup(f.check)
	return f
}

// library is the fake as a library of its own.
func (f *fake) library() *library {
	f.t.Helper()
	l, err := newLibrary(f.drv)
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

func (f *fake) open() *Device {
	f.t.Helper()
	d, err := f.library().open(0, collect(nil))
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

// check looks for what was not given back. A wait that was cancelled gives its
// part back a moment later.
func (f *fake) check() {
	for deadline := time.Now().Add(10 * time.Second); f.left() != "" && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if left := f.left(); left != "" {
		f.t.Error("left are:" + left)
	}
}

func (f *fake) left() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var left string
	for kind, n := range f.live {
		if n != 0 && f.lost == 0 {
			left += fmt.Sprintf(" %d %s", n, kind)
		}
	}
	if f.pushed != 0 {
		left += fmt.Sprintf(" %d contexts on threads", f.pushed)
	}
	return left
}

// begin locks the fake and gives the fault of a call, if there is to be one.
func (f *fake) begin(call string) code {
	f.mu.Lock()
	f.calls[call]++
	if f.lost != 0 && call != "cuInit" && !strings.HasPrefix(call, "cuDevice") {
		return f.lost
	}
	if f.fault != nil {
		return f.fault(call)
	}
	return success
}

// set changes the fake while a stream's goroutine may be in it.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// called is how often a call was made so far.
func (f *fake) called(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

// failOn sets the fault of calls; it is called with the fake locked.
func (f *fake) failOn(fault func(call string) code) { f.set(func() { f.fault = fault }) }

// simple is a call that gives out (+1) or takes back (-1) something of a kind.
func (f *fake) simple(call, kind string, n int) code {
	defer f.mu.Unlock()
	if c := f.begin(call); c != success {
		return c
	}
	f.live[kind] += n
	return success
}

func (f *fake) create(call, kind string) (handle, code) {
	defer f.mu.Unlock()
	if c := f.begin(call); c != success {
		return 0, c
	}
	f.live[kind]++
	f.next++
	return f.next, success
}

func (f *fake) devices() {
	attributes := map[int]int{attributeMaxThreads: 1024, attributeWarp: 32, attributeUnits: 4, attributeMajor: 9, attributeMinor: 0, attributeLocal: 48 << 10,
		attributeLocalOptIn: 227 << 10, attributeL2: 50 << 20, attributePools: 1, attributeHostPointers: 1,
		attributeMaxItemsX: 1024, attributeMaxItemsX + 1: 1024, attributeMaxItemsX + 2: 64,
		attributeMaxGroupsX: 1<<31 - 1, attributeMaxGroupsX + 1: 65535, attributeMaxGroupsX + 2: 65535}
	d := f.drv
	d.init = func() code { return f.simple("cuInit", "", 0) }
	d.version = func() (int, code) { return 12090, success }
	d.errorName = func(c code) string { return fmt.Sprintf("CUDA_ERROR_%d", c) }
	d.errorString = func(c code) string { return "the fake's words" }
	d.deviceCount = func() (int, code) { return f.gpus, f.simple("cuDeviceGetCount", "", 0) }
	d.deviceGet = func(n int) (int32, code) { return int32(n), f.simple("cuDeviceGet", "", 0) }
	d.deviceName = func(int32) (string, code) { return "Fake GPU", success }
	d.deviceAttribute = func(which int, _ int32) (int, code) {
		v, ok := attributes[which]
		if !ok {
			return 0, errorInvalidValue
		}
		return v, success
	}
	d.deviceTotalMem = func(int32) (int64, code) { return f.capacity, success }
	d.primaryRetain = func(dev int32) (handle, code) {
		return handle(500 + dev), f.simple("cuDevicePrimaryCtxRetain", "contexts", 1)
	}
	d.primaryRelease = func(int32) code {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.live["contexts"]--
		return success
	}
	d.primaryReset = func(int32) code {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lost, f.used = 0, 0
		clear(f.blocks)
		clear(f.host)
		contexts := f.live["contexts"]
		f.live = map[string]int{"contexts": contexts}
		return success
	}
	d.ctxPush = func(handle) code {
		defer f.mu.Unlock()
		c := f.begin("cuCtxPushCurrent")
		if c == success {
			f.pushed++
		}
		return c
	}
	d.ctxPop = func() code {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.pushed--
		return success
	}
	d.canAccessPeer = func(int32, int32) (bool, code) { return true, f.simple("cuDeviceCanAccessPeer", "", 0) }
	d.enablePeer = func(handle) code { return f.simple("cuCtxEnablePeerAccess", "", 0) }
}

func (f *fake) streams() {
	d := f.drv
	d.streamCreate = func(uint32) (handle, code) { return f.create("cuStreamCreate", "streams") }
	d.streamDestroy = func(handle) code { return f.simple("cuStreamDestroy", "streams", -1) }
	d.streamSynchronize = func(handle) code { return f.simple("cuStreamSynchronize", "", 0) }
	d.streamWaitEvent = func(handle, handle) code { return f.simple("cuStreamWaitEvent", "", 0) }
	d.eventCreate = func(uint32) (handle, code) { return f.create("cuEventCreate", "events") }
	d.eventDestroy = func(handle) code { return f.simple("cuEventDestroy", "events", -1) }
	d.eventRecord = func(e, _ handle) code {
		defer f.mu.Unlock()
		c := f.begin("cuEventRecord")
		f.reached[e] = time.Now()
		return c
	}
	d.eventQuery = func(handle) code {
		defer f.mu.Unlock()
		if c := f.begin("cuEventQuery"); c != success {
			return c
		}
		if f.held {
			return errorNotReady
		}
		return success
	}
	d.eventSynchronize = func(e handle) code {
		for {
			if c := d.eventQuery(e); c != errorNotReady {
				return c
			}
			time.Sleep(100 * time.Microsecond)
		}
	}
	d.eventElapsed = func(start, end handle) (float32, code) {
		defer f.mu.Unlock()
		c := f.begin("cuEventElapsedTime")
		return float32(f.reached[end].Sub(f.reached[start]).Seconds() * 1000), c
	}
}

// at are the bytes of device memory from an address on.
func (f *fake) at(p address, n int64) []byte {
	for base, b := range f.blocks {
		if p >= base && p+uintptr(n) <= base+uintptr(len(b)) {
			return b[p-base:][:n]
		}
	}
	f.t.Errorf("%d bytes at %#x are nobody's", n, p)
	return make([]byte, n)
}

func (f *fake) allocate(call string, size int64) (address, code) {
	defer f.mu.Unlock()
	if c := f.begin(call); c != success {
		return 0, c
	}
	if f.used+size > f.capacity {
		return 0, errorOutOfMemory
	}
	f.used += size
	f.live["blocks"]++
	b := make([]byte, size)
	p := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	f.blocks[p] = b
	return p, success
}

func (f *fake) release(call string, p address) code {
	defer f.mu.Unlock()
	if c := f.begin(call); c != success {
		return c
	}
	b, ok := f.blocks[p]
	if !ok {
		f.t.Errorf("%s of %#x, which is not out", call, p)
		return errorInvalidValue
	}
	f.used -= int64(len(b))
	f.live["blocks"]--
	delete(f.blocks, p)
	return success
}

func (f *fake) memory() {
	d := f.drv
	d.memInfo = func() (int64, int64, code) {
		defer f.mu.Unlock()
		c := f.begin("cuMemGetInfo")
		return f.capacity - f.used, f.capacity, c
	}
	d.memAlloc = func(size int64) (address, code) { return f.allocate("cuMemAlloc", size) }
	d.memFree = func(p address) code { return f.release("cuMemFree", p) }
	d.hostAlloc = func(size int64, _ uint32) (unsafe.Pointer, code) {
		defer f.mu.Unlock()
		if c := f.begin("cuMemHostAlloc"); c != success {
			return nil, c
		}
		b, err := memory.Heap.Allocate(size)
		if err != nil {
			return nil, errorOutOfMemory
		}
		p := unsafe.Pointer(unsafe.SliceData(b.Bytes))
		f.host[p] = b.Bytes
		f.live["pinned blocks"]++
		return p, success
	}
	d.hostFree = func(p unsafe.Pointer) code {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.host, p)
		f.live["pinned blocks"]--
		f.calls["cuMemFreeHost"]++
		return success
	}
	d.hostRegister = func(unsafe.Pointer, int64, uint32) code {
		return f.simple("cuMemHostRegister", "registrations", 1)
	}
	d.hostUnregister = func(unsafe.Pointer) code { return f.simple("cuMemHostUnregister", "registrations", -1) }
	d.hostDevicePointer = func(p unsafe.Pointer) (address, code) {
		return uintptr(p) + 1<<40, f.simple("cuMemHostGetDevicePointer", "", 0)
	}
	move := func(call string, f2 func()) code {
		defer f.mu.Unlock()
		if c := f.begin(call); c != success {
			return c
		}
		f.lastCopy = call
		f2()
		return success
	}
	d.copyToDevice = func(dst address, src unsafe.Pointer, n int64, _ handle) code {
		return move("cuMemcpyHtoDAsync", func() { copy(f.at(dst, n), unsafe.Slice((*byte)(src), n)) })
	}
	d.copyToHost = func(dst unsafe.Pointer, src address, n int64, _ handle) code {
		return move("cuMemcpyDtoHAsync", func() { copy(unsafe.Slice((*byte)(dst), n), f.at(src, n)) })
	}
	d.copyOnDevice = func(dst, src address, n int64, _ handle) code {
		return move("cuMemcpyDtoDAsync", func() { copy(f.at(dst, n), f.at(src, n)) })
	}
	d.copyPeer = func(dst address, _ handle, src address, _ handle, n int64, _ handle) code {
		return move("cuMemcpyPeerAsync", func() { copy(f.at(dst, n), f.at(src, n)) })
	}
	d.fill = func(dst address, v byte, n int64, _ handle) code {
		return move("cuMemsetD8Async", func() { copy(f.at(dst, n), bytes.Repeat([]byte{v}, int(n))) })
	}
}

func (f *fake) pools() {
	d := f.drv
	d.poolCreate = func(int32) (handle, code) { return f.create("cuMemPoolCreate", "pools") }
	d.poolDestroy = func(handle) code { return f.simple("cuMemPoolDestroy", "pools", -1) }
	d.poolSetThreshold = func(handle, uint64) code { return f.simple("cuMemPoolSetAttribute", "", 0) }
	d.poolKept = func(handle) (int64, code) { return f.kept, f.simple("cuMemPoolGetAttribute", "", 0) }
	d.poolSetAccess = func(handle, int32) code { return f.simple("cuMemPoolSetAccess", "", 0) }
	d.poolTrim = func(handle, int64) code { return f.simple("cuMemPoolTrimTo", "", 0) }
	d.poolAlloc = func(size int64, _, _ handle) (address, code) { return f.allocate("cuMemAllocFromPoolAsync", size) }
	d.poolFree = func(p address, _ handle) code { return f.release("cuMemFreeAsync", p) }
}

// withoutLater makes the driver one of CUDA 11.0.
func (f *fake) withoutLater() {
	d := f.drv
	d.version = func() (int, code) { return 11000, success }
	d.poolCreate, d.poolDestroy, d.poolSetThreshold, d.poolSetAccess, d.poolTrim, d.poolAlloc, d.poolFree, d.poolKept = nil, nil, nil, nil, nil, nil, nil, nil
	d.paramInfo, d.primaryReset, d.canAccessPeer, d.enablePeer = nil, nil, nil, nil
}

// kernels that a module of the fake may have, with the sizes of their parameters.
var fakeKernels = map[string]struct {
	sizes []int64
	run   func(f *fake, n int64, params []uint64)
}{
	"ordinals": {[]int64{8}, func(f *fake, n int64, p []uint64) { *f.word(p[0], n) = n }},
	"twice":    {[]int64{8}, func(f *fake, n int64, p []uint64) { *f.word(p[0], n) *= 2 }},
	"mixed":    {[]int64{8, 4, 1, 2, 8}, func(f *fake, n int64, p []uint64) { *f.word(p[0], n) += int64(p[1] + p[2] + p[3] + p[4]) }},
}

// word is element n of an array of int64 in device memory.
func (f *fake) word(base uint64, n int64) *int64 {
	return (*int64)(unsafe.Pointer(unsafe.SliceData(f.at(address(base)+8*uintptr(n), 8))))
}

func (f *fake) modules() {
	d := f.drv
	names := slices.Sorted(maps.Keys(fakeKernels))
	d.moduleLoad = func(image []byte) (handle, string, string, code) {
		m, c := f.create("cuModuleLoadDataEx", "modules")
		if c != success {
			return 0, "", f.log, c
		}
		f.images[m] = image
		return m, "", "", success
	}
	d.moduleUnload = func(handle) code { return f.simple("cuModuleUnload", "modules", -1) }
	d.moduleGet = func(m handle, name string) (handle, code) {
		defer f.mu.Unlock()
		if c := f.begin("cuModuleGetFunction"); c != success {
			return 0, c
		}
		i := slices.Index(names, name)
		if i < 0 || !bytes.Contains(f.images[m], []byte(name)) {
			return 0, 500
		}
		return handle(i), success
	}
	d.funcGet = func(which int, _ handle) (int, code) {
		return map[int]int{functionMaxThreads: 512}[which], f.simple("cuFuncGetAttribute", "", 0)
	}
	d.funcSet = func(handle, int, int) code { return f.simple("cuFuncSetAttribute", "", 0) }
	d.paramInfo = func(fn handle, i int) (int64, int64, code) {
		sizes := fakeKernels[names[fn]].sizes
		if i >= len(sizes) {
			return 0, 0, errorInvalidValue
		}
		return 0, sizes[i], success
	}
	d.launch = func(fn handle, groups, items [3]uint32, _ uint32, _ handle, params []uint64) code {
		defer f.mu.Unlock()
		if c := f.begin("cuLaunchKernel " + names[fn]); c != success {
			return c
		}
		n := int64(1)
		for i := range groups {
			n *= int64(groups[i]) * int64(items[i])
		}
		for i := range n {
			fakeKernels[names[fn]].run(f, i, params)
		}
		return success
	}
	d.occupancy = func(_ handle, items int, _ int64) (int, code) {
		return 2048 / items, f.simple("cuOccupancyMaxActiveBlocksPerMultiprocessor", "", 0)
	}
}
