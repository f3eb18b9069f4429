package cuda

import (
	"bytes"
	"math"
	"runtime"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/dl"
)

// bind makes the driver of a loaded library. A library without one of the
// required entry points is an ErrUnavailable that names all that are missing;
// its cause is most often a driver that is too old, so that the version found
// is in the text.
func bind(lib *dl.Library) (*driver, error) {
	at := make(map[string]uintptr, len(required)+len(optional))
	var missing []string
	for _, name := range required {
		if at[name] = lib.Optional(name); at[name] == 0 {
			missing = append(missing, name)
		}
	}
	for _, name := range optional {
		at[name] = lib.Optional(name)
	}
	if len(missing) > 0 {
		return nil, device.Errorf(device.ErrUnavailable, "cuda", "load", "%s has no %s%s",
			lib.Path(), strings.Join(missing, ", "), foundVersion(at["cuDriverGetVersion"]))
	}
	d := &driver{library: lib.Path()}
	bindDevice(d, at)
	bindStream(d, at)
	bindMemory(d, at)
	bindModule(d, at)
	bindOptional(d, at)
	return d, nil
}

// foundVersion is the version of a driver that lacks something, for a text.
func foundVersion(get uintptr) string {
	var v int32
	if get == 0 || dl.Call(get, uintptr(unsafe.Pointer(&v))) != 0 || v == 0 {
		return ""
	}
	return "; it is the driver of CUDA " + versionText(int(v)) + ", and CUDA " + versionText(oldest) + " or later is needed"
}

func bindDevice(d *driver, at map[string]uintptr) {
	initialize, version := at["cuInit"], at["cuDriverGetVersion"]
	d.init = func() code { return code(dl.Call(initialize, 0)) }
	d.version = func() (int, code) {
		var v int32
		c := code(dl.Call(version, uintptr(unsafe.Pointer(&v))))
		return int(v), c
	}
	d.errorName = bindText(at["cuGetErrorName"])
	d.errorString = bindText(at["cuGetErrorString"])

	count, get, name := at["cuDeviceGetCount"], at["cuDeviceGet"], at["cuDeviceGetName"]
	attribute, total := at["cuDeviceGetAttribute"], at["cuDeviceTotalMem_v2"]
	d.deviceCount = func() (int, code) {
		var n int32
		c := code(dl.Call(count, uintptr(unsafe.Pointer(&n))))
		return int(n), c
	}
	d.deviceGet = func(ordinal int) (int32, code) {
		var dev int32
		c := code(dl.Call(get, uintptr(unsafe.Pointer(&dev)), uintptr(ordinal)))
		return dev, c
	}
	d.deviceName = func(dev int32) (string, code) {
		var text [256]byte
		c := code(dl.Call(name, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), uintptr(dev)))
		return cString(text[:]), c
	}
	d.deviceAttribute = func(which int, dev int32) (int, code) {
		var v int32
		c := code(dl.Call(attribute, uintptr(unsafe.Pointer(&v)), uintptr(which), uintptr(dev)))
		return int(v), c
	}
	d.deviceTotalMem = func(dev int32) (int64, code) {
		var n uint64
		c := code(dl.Call(total, uintptr(unsafe.Pointer(&n)), uintptr(dev)))
		return int64(n), c
	}

	retain, release := at["cuDevicePrimaryCtxRetain"], at["cuDevicePrimaryCtxRelease_v2"]
	push, pop := at["cuCtxPushCurrent_v2"], at["cuCtxPopCurrent_v2"]
	d.primaryRetain = func(dev int32) (handle, code) {
		var ctx handle
		c := code(dl.Call(retain, uintptr(unsafe.Pointer(&ctx)), uintptr(dev)))
		return ctx, c
	}
	d.primaryRelease = func(dev int32) code { return code(dl.Call(release, uintptr(dev))) }
	d.ctxPush = func(ctx handle) code { return code(dl.Call(push, ctx)) }
	d.ctxPop = func() code {
		var ctx handle
		return code(dl.Call(pop, uintptr(unsafe.Pointer(&ctx))))
	}
}

func bindStream(d *driver, at map[string]uintptr) {
	create, destroy := at["cuStreamCreate"], at["cuStreamDestroy_v2"]
	synchronize, wait := at["cuStreamSynchronize"], at["cuStreamWaitEvent"]
	d.streamCreate = func(flags uint32) (handle, code) {
		var s handle
		c := code(dl.Call(create, uintptr(unsafe.Pointer(&s)), uintptr(flags)))
		return s, c
	}
	d.streamDestroy = func(s handle) code { return code(dl.Call(destroy, s)) }
	d.streamSynchronize = func(s handle) code { return code(dl.Call(synchronize, s)) }
	d.streamWaitEvent = func(s, e handle) code { return code(dl.Call(wait, s, e, 0)) }

	eventCreate, eventDestroy, record := at["cuEventCreate"], at["cuEventDestroy_v2"], at["cuEventRecord"]
	query, eventSynchronize, elapsed := at["cuEventQuery"], at["cuEventSynchronize"], at["cuEventElapsedTime"]
	d.eventCreate = func(flags uint32) (handle, code) {
		var e handle
		c := code(dl.Call(eventCreate, uintptr(unsafe.Pointer(&e)), uintptr(flags)))
		return e, c
	}
	d.eventDestroy = func(e handle) code { return code(dl.Call(eventDestroy, e)) }
	d.eventRecord = func(e, s handle) code { return code(dl.Call(record, e, s)) }
	d.eventQuery = func(e handle) code { return code(dl.Call(query, e)) }
	d.eventSynchronize = func(e handle) code { return code(dl.Call(eventSynchronize, e)) }
	d.eventElapsed = func(start, end handle) (float32, code) {
		var ms float32
		c := code(dl.Call(elapsed, uintptr(unsafe.Pointer(&ms)), start, end))
		return ms, c
	}
}

func bindMemory(d *driver, at map[string]uintptr) {
	info, alloc, free := at["cuMemGetInfo_v2"], at["cuMemAlloc_v2"], at["cuMemFree_v2"]
	d.memInfo = func() (int64, int64, code) {
		var f, t uint64
		c := code(dl.Call(info, uintptr(unsafe.Pointer(&f)), uintptr(unsafe.Pointer(&t))))
		return int64(f), int64(t), c
	}
	d.memAlloc = func(size int64) (address, code) {
		var p address
		c := code(dl.Call(alloc, uintptr(unsafe.Pointer(&p)), uintptr(size)))
		return p, c
	}
	d.memFree = func(p address) code { return code(dl.Call(free, p)) }

	hostAlloc, hostFree := at["cuMemHostAlloc"], at["cuMemFreeHost"]
	register, unregister, pointer := at["cuMemHostRegister_v2"], at["cuMemHostUnregister"], at["cuMemHostGetDevicePointer_v2"]
	d.hostAlloc = func(size int64, flags uint32) (unsafe.Pointer, code) {
		var p unsafe.Pointer
		c := code(dl.Call(hostAlloc, uintptr(unsafe.Pointer(&p)), uintptr(size), uintptr(flags)))
		return p, c
	}
	d.hostFree = func(p unsafe.Pointer) code { return code(dl.Call(hostFree, uintptr(p))) }
	d.hostRegister = func(p unsafe.Pointer, size int64, flags uint32) code {
		return code(dl.Call(register, uintptr(p), uintptr(size), uintptr(flags)))
	}
	d.hostUnregister = func(p unsafe.Pointer) code { return code(dl.Call(unregister, uintptr(p))) }
	d.hostDevicePointer = func(p unsafe.Pointer) (address, code) {
		var a address
		c := code(dl.Call(pointer, uintptr(unsafe.Pointer(&a)), uintptr(p), 0))
		return a, c
	}

	toDevice, toHost, onDevice := at["cuMemcpyHtoDAsync_v2"], at["cuMemcpyDtoHAsync_v2"], at["cuMemcpyDtoDAsync_v2"]
	peer, set := at["cuMemcpyPeerAsync"], at["cuMemsetD8Async"]
	d.copyToDevice = func(dst address, src unsafe.Pointer, n int64, s handle) code {
		return code(dl.Call(toDevice, dst, uintptr(src), uintptr(n), s))
	}
	d.copyToHost = func(dst unsafe.Pointer, src address, n int64, s handle) code {
		return code(dl.Call(toHost, uintptr(dst), src, uintptr(n), s))
	}
	d.copyOnDevice = func(dst, src address, n int64, s handle) code {
		return code(dl.Call(onDevice, dst, src, uintptr(n), s))
	}
	d.copyPeer = func(dst address, dstCtx handle, src address, srcCtx handle, n int64, s handle) code {
		return code(dl.Call(peer, dst, dstCtx, src, srcCtx, uintptr(n), s))
	}
	d.fill = func(dst address, value byte, n int64, s handle) code {
		return code(dl.Call(set, dst, uintptr(value), uintptr(n), s))
	}
}

func bindModule(d *driver, at map[string]uintptr) {
	load, unload, get := at["cuModuleLoadDataEx"], at["cuModuleUnload"], at["cuModuleGetFunction"]
	funcGet, funcSet := at["cuFuncGetAttribute"], at["cuFuncSetAttribute"]
	launch, occupancy := at["cuLaunchKernel"], at["cuOccupancyMaxActiveBlocksPerMultiprocessor"]
	d.moduleLoad = func(image []byte) (handle, string, string, code) {
		const size = 64 << 10
		// The options are CUjit_option, their values numbers or pointers in the
		// place of a pointer; the driver writes the logs' lengths back.
		options := [4]uint32{3, 4, 5, 6}
		logs := new([2][size]byte)
		var values [4]uintptr
		var pin runtime.Pinner
		defer pin.Unpin()
		pin.Pin(logs)
		values[0], values[1] = uintptr(unsafe.Pointer(&logs[0])), size
		values[2], values[3] = uintptr(unsafe.Pointer(&logs[1])), size
		var m handle
		c := code(dl.Call(load, uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(unsafe.SliceData(image))),
			uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0]))))
		return m, cString(logs[0][:]), cString(logs[1][:]), c
	}
	d.moduleUnload = func(m handle) code { return code(dl.Call(unload, m)) }
	d.moduleGet = func(m handle, name string) (handle, code) {
		text := append([]byte(name), 0)
		var f handle
		c := code(dl.Call(get, uintptr(unsafe.Pointer(&f)), m, uintptr(unsafe.Pointer(&text[0]))))
		return f, c
	}
	d.funcGet = func(which int, f handle) (int, code) {
		var v int32
		c := code(dl.Call(funcGet, uintptr(unsafe.Pointer(&v)), uintptr(which), f))
		return int(v), c
	}
	d.funcSet = func(f handle, which, value int) code {
		return code(dl.Call(funcSet, f, uintptr(which), uintptr(value)))
	}
	d.launch = func(f handle, groups, items [3]uint32, local uint32, s handle, params []uint64) code {
		if len(params) == 0 {
			return code(dl.Call(launch, f, uintptr(groups[0]), uintptr(groups[1]), uintptr(groups[2]),
				uintptr(items[0]), uintptr(items[1]), uintptr(items[2]), uintptr(local), s, 0, 0))
		}
		places := make([]unsafe.Pointer, len(params))
		var pin runtime.Pinner
		defer pin.Unpin()
		pin.Pin(&params[0])
		pin.Pin(&places[0])
		for i := range params {
			places[i] = unsafe.Pointer(&params[i])
		}
		return code(dl.Call(launch, f, uintptr(groups[0]), uintptr(groups[1]), uintptr(groups[2]),
			uintptr(items[0]), uintptr(items[1]), uintptr(items[2]), uintptr(local), s, uintptr(unsafe.Pointer(&places[0])), 0))
	}
	d.occupancy = func(f handle, items int, local int64) (int, code) {
		var n int32
		c := code(dl.Call(occupancy, uintptr(unsafe.Pointer(&n)), f, uintptr(items), uintptr(local)))
		return int(n), c
	}
}

// bindOptional binds what a driver may be without. Memory pools come together
// or not at all.
func bindOptional(d *driver, at map[string]uintptr) {
	if reset := at["cuDevicePrimaryCtxReset_v2"]; reset != 0 {
		d.primaryReset = func(dev int32) code { return code(dl.Call(reset, uintptr(dev))) }
	}
	if get := at["cuDeviceGetUuid"]; get != 0 {
		d.deviceUUID = func(dev int32) (id [16]byte, c code) {
			var made [16]byte
			c = code(dl.Call(get, uintptr(unsafe.Pointer(&made[0])), uintptr(dev)))
			return made, c
		}
	}
	if info := at["cuFuncGetParamInfo"]; info != 0 {
		d.paramInfo = func(f handle, index int) (int64, int64, code) {
			var offset, size uint64
			c := code(dl.Call(info, f, uintptr(index), uintptr(unsafe.Pointer(&offset)), uintptr(unsafe.Pointer(&size))))
			return int64(offset), int64(size), c
		}
	}
	if can, enable := at["cuDeviceCanAccessPeer"], at["cuCtxEnablePeerAccess"]; can != 0 && enable != 0 {
		d.canAccessPeer = func(dev, peer int32) (bool, code) {
			var yes int32
			c := code(dl.Call(can, uintptr(unsafe.Pointer(&yes)), uintptr(dev), uintptr(peer)))
			return yes != 0, c
		}
		d.enablePeer = func(ctx handle) code { return code(dl.Call(enable, ctx, 0)) }
	}
	for _, name := range optional {
		if at[name] == 0 && (strings.HasPrefix(name, "cuMemPool") || strings.HasPrefix(name, "cuMemAllocFrom") || name == "cuMemFreeAsync") {
			return
		}
	}
	bindPools(d, at)
}

func bindPools(d *driver, at map[string]uintptr) {
	create, destroy, trim := at["cuMemPoolCreate"], at["cuMemPoolDestroy"], at["cuMemPoolTrimTo"]
	attribute, query, access := at["cuMemPoolSetAttribute"], at["cuMemPoolGetAttribute"], at["cuMemPoolSetAccess"]
	alloc, free := at["cuMemAllocFromPoolAsync"], at["cuMemFreeAsync"]
	const (
		pinned           = 1 // CU_MEM_ALLOCATION_TYPE_PINNED
		onDevice         = 1 // CU_MEM_LOCATION_TYPE_DEVICE
		readWrite        = 3 // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
		releaseThreshold = 4 // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
		reserved         = 5 // CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
		used             = 7 // CU_MEMPOOL_ATTR_USED_MEM_CURRENT
	)
	d.poolCreate = func(dev int32) (handle, code) {
		properties := [11]uint64{0: pinned, 1: onDevice | uint64(uint32(dev))<<32} // CUmemPoolProps, 88 bytes
		var pool handle
		c := code(dl.Call(create, uintptr(unsafe.Pointer(&pool)), uintptr(unsafe.Pointer(&properties[0]))))
		return pool, c
	}
	d.poolDestroy = func(pool handle) code { return code(dl.Call(destroy, pool)) }
	d.poolSetThreshold = func(pool handle, bytes uint64) code {
		return code(dl.Call(attribute, pool, releaseThreshold, uintptr(unsafe.Pointer(&bytes))))
	}
	d.poolKept = func(pool handle) (int64, code) {
		var has, uses uint64
		c := code(dl.Call(query, pool, reserved, uintptr(unsafe.Pointer(&has))))
		if c == success {
			c = code(dl.Call(query, pool, used, uintptr(unsafe.Pointer(&uses))))
		}
		return int64(has - min(uses, has)), c
	}
	d.poolSetAccess = func(pool handle, dev int32) code {
		description := [3]int32{onDevice, dev, readWrite} // CUmemAccessDesc
		return code(dl.Call(access, pool, uintptr(unsafe.Pointer(&description[0])), 1))
	}
	d.poolTrim = func(pool handle, keep int64) code { return code(dl.Call(trim, pool, uintptr(keep))) }
	d.poolAlloc = func(size int64, pool, stream handle) (address, code) {
		var p address
		c := code(dl.Call(alloc, uintptr(unsafe.Pointer(&p)), uintptr(size), pool, stream))
		return p, c
	}
	d.poolFree = func(p address, stream handle) code { return code(dl.Call(free, p, stream)) }
}

// bindText binds cuGetErrorName and cuGetErrorString.
func bindText(get uintptr) func(code) string {
	return func(c code) string {
		var text *byte
		if dl.Call(get, uintptr(c), uintptr(unsafe.Pointer(&text))) != 0 || text == nil {
			return ""
		}
		n := 0
		for n < math.MaxInt16 && *(*byte)(unsafe.Add(unsafe.Pointer(text), n)) != 0 {
			n++
		}
		return string(unsafe.Slice(text, n))
	}
}

// cString is the text in front of the first NUL byte.
func cString(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return strings.TrimRight(string(b), "\n")
}
