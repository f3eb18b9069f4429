package cuda

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
)

// The CUdevice_attribute values that are asked for.
const (
	attributeMaxThreads   = 1
	attributeMaxItemsX    = 2
	attributeMaxGroupsX   = 5
	attributeLocal        = 8
	attributeWarp         = 10
	attributeUnits        = 16
	attributeIntegrated   = 18
	attributeL2           = 38
	attributeMajor        = 75
	attributeMinor        = 76
	attributeHostPointers = 91 // registered host memory has one address on both sides
	attributeLocalOptIn   = 97
	attributePools        = 115
	infoFreshness         = time.Millisecond
)

// limits are a GPU's properties, as the driver gives them.
type limits struct {
	model        string
	total        int64
	threads      int
	items        [3]int
	groups       [3]int
	local        int64 // of a work-group without asking
	localOptIn   int64 // of a work-group at most
	warp, units  int
	l2           int64
	major, minor int
	integrated   bool
	hostPointers bool
	pools        bool
}

func (l *library) limits(name string, dev int32) (limits, error) {
	var x limits
	var first error
	keep := func(call string, c code) {
		if first == nil {
			first = l.driver.failure(name, call, c)
		}
	}
	need := func(attribute int) int {
		v, c := l.driver.deviceAttribute(attribute, dev)
		keep(fmt.Sprintf("cuDeviceGetAttribute %d", attribute), c)
		return v
	}
	might := func(attribute int) int { // of later versions than the oldest, or for information
		v, c := l.driver.deviceAttribute(attribute, dev)
		if c != success {
			return 0
		}
		return v
	}
	var c code
	x.model, c = l.driver.deviceName(dev)
	keep("cuDeviceGetName", c)
	x.total, c = l.driver.deviceTotalMem(dev)
	keep("cuDeviceTotalMem", c)
	x.threads, x.warp, x.units = need(attributeMaxThreads), need(attributeWarp), need(attributeUnits)
	x.major, x.minor = need(attributeMajor), need(attributeMinor)
	for i := range x.items {
		x.items[i], x.groups[i] = need(attributeMaxItemsX+i), need(attributeMaxGroupsX+i)
	}
	x.local = int64(need(attributeLocal))
	x.localOptIn = max(x.local, int64(might(attributeLocalOptIn)))
	x.l2 = int64(might(attributeL2))
	x.integrated = might(attributeIntegrated) != 0
	x.hostPointers = might(attributeHostPointers) != 0
	x.pools = might(attributePools) != 0
	return x, first
}

// capability is the compute capability in one number: 90 for 9.0.
func (x *limits) capability() int { return 10*x.major + x.minor }

func (x *limits) info(name string, l *library) device.Info {
	info := device.Info{
		Name:        name,
		Vendor:      "NVIDIA",
		Model:       x.model,
		Driver:      "CUDA " + versionText(l.version),
		Units:       x.units,
		Lanes:       x.warp,
		Memory:      x.total,
		LocalMemory: x.local,
		CacheL2:     x.l2,
		Cache:       x.l2,
		MaxGroup:    x.threads,
		Tier:        fmt.Sprintf("sm_%d", x.capability()),
		Features:    []string{"fp64", "int64-atomics", "subgroups", "fp16"}, // of every GPU that CUDA 11 drives and PTX here is made for
		Unified:     x.integrated,
		Emulated:    strings.Contains(strings.ToLower(x.model), "emulated"),
	}
	if x.pools && l.driver.poolCreate != nil {
		info.Features = append(info.Features, "memory-pools")
	}
	return info
}

// freeMemory remembers the free memory for a moment: Info is read at every
// launch by some, and asking the driver takes longer than a launch.
type freeMemory struct {
	bytes atomic.Int64
	until atomic.Int64 // nanoseconds of the monotonic clock
}

var epoch = time.Now()

// Info describes the GPU. MemoryFree counts what the device keeps for reuse, is
// at most a millisecond old, and 0 on a device that is lost or closed. LocalMemory is what a work-group may use
// without being told to the driver (48 KiB); MaxLocal is what a launch can ask
// for as Grid.Local.
func (d *Device) Info() device.Info {
	info := d.limits.info(d.name, d.lib)
	now := int64(time.Since(epoch))
	if now < d.free.until.Load() {
		info.MemoryFree = d.free.bytes.Load()
		return info
	}
	_ = d.in(func() code { // no answer is an answer: 0
		free, _, c := d.lib.driver.memInfo()
		if c != success {
			return c
		}
		kept, c := d.kept()
		info.MemoryFree = min(free+kept, info.Memory)
		return c
	})
	d.free.bytes.Store(info.MemoryFree)
	d.free.until.Store(now + int64(infoFreshness))
	return info
}

// MaxLocal is the local memory in bytes, static and Grid.Local together, that a
// launch may ask for at most.
func (d *Device) MaxLocal() int64 { return d.limits.localOptIn }

// List describes the GPUs of this machine, without opening them: MemoryFree is
// 0. Where there is none the error is an ErrUnavailable that says why.
func List(opts ...Option) ([]device.Info, error) {
	o := collect(opts)
	lib, err := load(o.library)
	if err != nil {
		return nil, err
	}
	return lib.list()
}

func (l *library) list() ([]device.Info, error) {
	n, err := l.count()
	if err != nil {
		return nil, err
	}
	var all []device.Info
	for i := range n {
		name := fmt.Sprintf("cuda:%d", i)
		dev, c := l.driver.deviceGet(i)
		if c != success {
			return nil, l.driver.failure(name, "cuDeviceGet", c)
		}
		x, err := l.limits(name, dev)
		if err != nil {
			return nil, err
		}
		all = append(all, x.info(name, l))
	}
	return all, nil
}
