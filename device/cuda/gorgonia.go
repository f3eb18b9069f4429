//go:build gorgonia_cu

package cuda

import (
	"reflect"
	"runtime"
	"slices"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/volley-go/volley/internal/dl"
)

// provide gives the driver with the calls of gorgonia.org/cu, which is linked
// to libcuda and needs cgo. What that package has not got (pinned host memory,
// memory pools, the compiler's logs, parameters of kernels, the texts of errors)
// comes from the library loaded at run time, which must be the one that it is
// linked to: with the path of another nothing is taken from it.
func provide(path string) (*driver, error) {
	d, err := loadDriver(path)
	if err != nil || path != "" && !slices.Contains(dl.CUDA(runtime.GOOS), path) {
		return d, err
	}
	d.library = "gorgonia.org/cu over " + d.library
	d.init = func() code { return success } // its own init has done it, or ended the program
	d.version = func() (int, code) {
		if v := cu.Version(); v >= 0 {
			return v, success
		}
		return 0, errorUnknown
	}
	gorgoniaDevice(d)
	gorgoniaStream(d)
	gorgoniaMemory(d)
	gorgoniaModule(d)
	return d, nil
}

// result is the CUresult in an error of gorgonia.org/cu, whose type for it is an
// integer that it does not export.
func result(err error) code {
	if err == nil {
		return success
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return code(v.Int())
	}
	return errorUnknown
}

// The types of gorgonia.org/cu for handles are structs of nothing but the
// driver's pointer, so that either is the other in memory.
func cuStream(h handle) cu.Stream     { return *(*cu.Stream)(unsafe.Pointer(&h)) }
func cuEvent(h handle) cu.Event       { return *(*cu.Event)(unsafe.Pointer(&h)) }
func cuModule(h handle) cu.Module     { return *(*cu.Module)(unsafe.Pointer(&h)) }
func cuFunction(h handle) cu.Function { return *(*cu.Function)(unsafe.Pointer(&h)) }
func cuContext(h handle) cu.CUContext { return *(*cu.CUContext)(unsafe.Pointer(&h)) }

// raw is the driver's pointer in such a struct.
func raw[T cu.Stream | cu.Event | cu.Function | cu.CUContext](x T) handle {
	return *(*handle)(unsafe.Pointer(&x))
}

func gorgoniaDevice(d *driver) {
	d.deviceCount = func() (int, code) {
		n, err := cu.NumDevices()
		return n, result(err)
	}
	d.deviceGet = func(ordinal int) (int32, code) {
		dev, err := cu.GetDevice(ordinal)
		return int32(dev), result(err)
	}
	d.deviceName = func(dev int32) (string, code) {
		name, err := cu.Device(dev).Name()
		return name, result(err)
	}
	d.deviceAttribute = func(which int, dev int32) (int, code) {
		v, err := cu.Device(dev).Attribute(cu.DeviceAttribute(which))
		return v, result(err)
	}
	d.deviceTotalMem = func(dev int32) (int64, code) {
		n, err := cu.Device(dev).TotalMem()
		return n, result(err)
	}
	d.primaryRetain = func(dev int32) (handle, code) {
		ctx, err := cu.Device(dev).RetainPrimaryCtx()
		return raw(ctx), result(err)
	}
	d.primaryRelease = func(dev int32) code { return result(cu.Device(dev).ReleasePrimaryCtx()) }
	d.primaryReset = func(dev int32) code { return result(cu.Device(dev).ResetPrimaryCtx()) }
	d.ctxPush = func(ctx handle) code { return result(cu.PushCurrentCtx(cuContext(ctx))) }
	d.ctxPop = func() code {
		_, err := cu.PopCurrentCtx()
		return result(err)
	}
	d.canAccessPeer = func(dev, peer int32) (bool, code) {
		can, err := cu.Device(dev).CanAccessPeer(cu.Device(peer))
		return can != 0, result(err)
	}
	d.enablePeer = func(ctx handle) code { return result(cuContext(ctx).EnablePeerAccess(0)) }
}

func gorgoniaStream(d *driver) {
	d.streamCreate = func(flags uint32) (handle, code) {
		s, err := cu.MakeStream(cu.StreamFlags(flags))
		return raw(s), result(err)
	}
	d.streamDestroy = func(h handle) code {
		s := cuStream(h)
		return result(s.Destroy())
	}
	d.streamSynchronize = func(s handle) code { return result(cuStream(s).Synchronize()) }
	d.streamWaitEvent = func(s, e handle) code { return result(cuStream(s).Wait(cuEvent(e), 0)) }
	d.eventCreate = func(flags uint32) (handle, code) {
		e, err := cu.MakeEvent(cu.EventFlags(flags))
		return raw(e), result(err)
	}
	d.eventDestroy = func(h handle) code {
		e := cuEvent(h)
		return result(cu.DestroyEvent(&e))
	}
	d.eventRecord = func(e, s handle) code { return result(cuEvent(e).Record(cuStream(s))) }
	d.eventQuery = func(e handle) code { return result(cuEvent(e).Query()) }
	d.eventSynchronize = func(e handle) code { return result(cuEvent(e).Synchronize()) }
	d.eventElapsed = func(start, end handle) (float32, code) {
		ms, err := cuEvent(start).Elapsed(cuEvent(end))
		return float32(ms), result(err)
	}
}

func gorgoniaMemory(d *driver) {
	d.memInfo = func() (int64, int64, code) {
		free, total, err := cu.MemInfo()
		return free, total, result(err)
	}
	d.memAlloc = func(size int64) (address, code) {
		p, err := cu.MemAlloc(size)
		return address(p), result(err)
	}
	d.memFree = func(p address) code { return result(cu.MemFree(cu.DevicePtr(p))) }
	d.hostFree = func(p unsafe.Pointer) code { return result(cu.MemFreeHost(p)) }
	d.copyToDevice = func(dst address, src unsafe.Pointer, n int64, s handle) code {
		return result(cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, n, cuStream(s)))
	}
	d.copyToHost = func(dst unsafe.Pointer, src address, n int64, s handle) code {
		return result(cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), n, cuStream(s)))
	}
	d.copyOnDevice = func(dst, src address, n int64, s handle) code {
		return result(cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), n, cuStream(s)))
	}
	d.copyPeer = func(dst address, dstCtx handle, src address, srcCtx handle, n int64, s handle) code {
		return result(cu.MemcpyPeerAsync(cu.DevicePtr(dst), cuContext(dstCtx), cu.DevicePtr(src), cuContext(srcCtx), n, cuStream(s)))
	}
	d.fill = func(dst address, value byte, n int64, s handle) code {
		return result(cu.MemsetD8Async(cu.DevicePtr(dst), value, n, cuStream(s)))
	}
}

func gorgoniaModule(d *driver) {
	d.moduleUnload = func(m handle) code { return result(cuModule(m).Unload()) }
	d.moduleGet = func(m handle, name string) (handle, code) {
		f, err := cuModule(m).Function(name)
		return raw(f), result(err)
	}
	d.funcGet = func(which int, f handle) (int, code) {
		v, err := cuFunction(f).Attribute(cu.FunctionAttribute(which))
		return v, result(err)
	}
	d.launch = func(f handle, groups, items [3]uint32, local uint32, s handle, params []uint64) code {
		places := make([]unsafe.Pointer, len(params))
		for i := range params {
			places[i] = unsafe.Pointer(&params[i])
		}
		return result(cuFunction(f).Launch(int(groups[0]), int(groups[1]), int(groups[2]),
			int(items[0]), int(items[1]), int(items[2]), int(local), cuStream(s), places))
	}
	d.occupancy = func(f handle, items int, local int64) (int, code) {
		n, err := cuFunction(f).MaxActiveBlocksPerMultiProcessor(items, local)
		return n, result(err)
	}
}
