//go:build gogl_cl

package opencl

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/go-gl/cl/v1.2/cl"
)

// load binds the functions of go-gl/cl, which is linked against OpenCL's loader
// with cgo: a program that is built so does not start without it.
func load() (*driver, error) {
	d := &driver{path: "the OpenCL loader that this program is linked with"}
	g := &gogl{}
	g.queries(d)
	g.contexts(d)
	g.programs(d)
	g.kernels(d)
	g.transfers(d)
	g.events(d)
	return d, nil
}

// gogl keeps what go-gl/cl makes Go values of: a context is one, and the handle
// is the C pointer in it.
type gogl struct {
	contextOf sync.Map // handle to cl.Context
}

func (g *gogl) context(h handle) cl.Context {
	c, _ := g.contextOf.Load(h)
	return c.(cl.Context)
}

// as is a handle as one of the pointer types of go-gl/cl.
func as[T any](h handle) T { return *(*T)(unsafe.Pointer(&h)) }

// of is the handle in one of the pointer types of go-gl/cl.
func of[T any](v T) handle { return *(*handle)(unsafe.Pointer(&v)) }

func (g *gogl) queries(d *driver) {
	d.getPlatformIDs = func() ([]handle, status) {
		var n uint32
		if st := status(cl.GetPlatformIDs(0, nil, &n)); st != success || n == 0 {
			return nil, st
		}
		ids := make([]cl.PlatformID, n)
		st := status(cl.GetPlatformIDs(n, &ids[0], nil))
		return handles(ids), st
	}
	d.getPlatformInfo = func(platform handle, key uint32) ([]byte, status) {
		return value(func(n uint64, at unsafe.Pointer, need *uint64) cl.ErrorCode {
			return cl.GetPlatformInfo(as[cl.PlatformID](platform), cl.PlatformInfo(key), n, at, need)
		})
	}
	d.getDeviceIDs = func(platform handle) ([]handle, status) {
		var n uint32
		if st := status(cl.GetDeviceIDs(as[cl.PlatformID](platform), cl.DEVICE_TYPE_ALL, 0, nil, &n)); st != success || n == 0 {
			return nil, st
		}
		ids := make([]cl.DeviceId, n)
		st := status(cl.GetDeviceIDs(as[cl.PlatformID](platform), cl.DEVICE_TYPE_ALL, n, &ids[0], nil))
		return handles(ids), st
	}
	d.getDeviceInfo = func(dev handle, key uint32) ([]byte, status) {
		return value(func(n uint64, at unsafe.Pointer, need *uint64) cl.ErrorCode {
			return cl.GetDeviceInfo(as[cl.DeviceId](dev), cl.DeviceInfo(key), n, at, need)
		})
	}
}

func handles[T any](ids []T) []handle {
	all := make([]handle, len(ids))
	for i, id := range ids {
		all[i] = of(id)
	}
	return all
}

// value asks one of the functions (size, value, size needed).
func value(ask func(n uint64, at unsafe.Pointer, need *uint64) cl.ErrorCode) ([]byte, status) {
	var n uint64
	if st := status(ask(0, nil, &n)); st != success || n == 0 {
		return nil, st
	}
	content := make([]byte, n)
	st := status(ask(n, unsafe.Pointer(&content[0]), nil))
	return content, st
}

func (g *gogl) contexts(d *driver) {
	d.createContext = func(dev handle) (handle, status) {
		var st cl.ErrorCode
		id := as[cl.DeviceId](dev)
		c := cl.CreateContext(nil, 1, &id, nil, nil, &st)
		if status(st) != success {
			return 0, status(st)
		}
		h := *(*handle)(unsafe.Pointer(c)) // its first field
		g.contextOf.Store(h, c)
		return h, success
	}
	d.releaseContext = func(context handle) status {
		c := g.context(context)
		g.contextOf.Delete(context)
		return status(cl.ReleaseContext(c))
	}
	d.createCommandQueue = func(context, dev handle, properties uint64) (handle, status) {
		var st cl.ErrorCode
		q := cl.CreateCommandQueue(g.context(context), as[cl.DeviceId](dev), cl.CommandQueueProperties(properties), &st)
		return of(q), status(st)
	}
	d.releaseCommandQueue = func(queue handle) status {
		cl.ReleaseCommandQueue(as[cl.CommandQueue](queue))
		return success
	}
	d.flush = func(queue handle) status { return status(cl.Flush(as[cl.CommandQueue](queue))) }
	d.createBuffer = func(context handle, flags uint64, size uintptr) (handle, status) {
		var st cl.ErrorCode
		m := cl.CreateBuffer(g.context(context), cl.MemFlags(flags), uint64(size), nil, &st)
		return of(m), status(st)
	}
	d.createSubBuffer = func(buffer handle, flags uint64, origin, size uintptr) (handle, status) {
		var st cl.ErrorCode
		region := [2]uintptr{origin, size}
		m := cl.CreateSubBuffer(as[cl.Mem](buffer), cl.MemFlags(flags), cl.BUFFER_CREATE_TYPE_REGION, unsafe.Pointer(&region), &st)
		return of(m), status(st)
	}
	d.releaseMemObject = func(mem handle) status { return status(cl.ReleaseMemObject(as[cl.Mem](mem))) }
	d.getMemObjectInfo = func(mem handle, key uint32) (uintptr, status) {
		var n uintptr
		st := cl.GetMemObjectInfo(as[cl.Mem](mem), cl.MemInfo(key), uint64(unsafe.Sizeof(n)), unsafe.Pointer(&n), nil)
		return n, status(st)
	}
}

func (g *gogl) programs(d *driver) {
	d.createProgramWithSource = func(context handle, text string) (handle, status) {
		var st cl.ErrorCode
		content, n := []byte(text+"\x00"), uint64(len(text))
		at := &content[0]
		var pin runtime.Pinner
		pin.Pin(at)
		defer pin.Unpin()
		p := cl.CreateProgramWithSource(g.context(context), 1, &at, &n, &st)
		return of(p), status(st)
	}
	d.createProgramWithBinary = func(context, dev handle, image []byte) (handle, status) {
		if len(image) == 0 {
			return 0, invalidBinary
		}
		var st cl.ErrorCode
		var each int32
		id, at, n := as[cl.DeviceId](dev), &image[0], uint64(len(image))
		var pin runtime.Pinner
		pin.Pin(at)
		defer pin.Unpin()
		p := cl.CreateProgramWithBinary(g.context(context), 1, &id, &n, &at, &each, &st)
		return of(p), status(st)
	}
	d.buildProgram = func(program, dev handle, options string) status {
		id := as[cl.DeviceId](dev)
		return status(cl.BuildProgram(as[cl.Program](program), 1, &id, cl.Str(options+"\x00"), nil, nil))
	}
	d.getProgramBuildLog = func(program, dev handle) string {
		log, _ := value(func(n uint64, at unsafe.Pointer, need *uint64) cl.ErrorCode {
			return cl.GetProgramBuildInfo(as[cl.Program](program), as[cl.DeviceId](dev), programBuildLog, n, at, need)
		})
		return text(log)
	}
	d.getProgramBinary = func(program handle) ([]byte, status) {
		var n uintptr // of the one device that it was built for
		size := uint64(unsafe.Sizeof(n))
		if st := status(cl.GetProgramInfo(as[cl.Program](program), programBinarySizes, size, unsafe.Pointer(&n), nil)); st != success || n == 0 {
			return nil, st
		}
		image := make([]byte, n)
		at := &image[0]
		var pin runtime.Pinner
		pin.Pin(at)
		defer pin.Unpin()
		st := status(cl.GetProgramInfo(as[cl.Program](program), programBinaries, size, unsafe.Pointer(&at), nil))
		return image, st
	}
	d.releaseProgram = func(program handle) status { return status(cl.ReleaseProgram(as[cl.Program](program))) }
}
