//go:build !gogl_cl

package opencl

import (
	"runtime"
	"unsafe"

	"github.com/volley-go/volley/internal/dl"
)

func (b *binder) queries(d *driver) {
	platforms, platformInfo := b.find("clGetPlatformIDs"), b.find("clGetPlatformInfo")
	devices, deviceInfo := b.find("clGetDeviceIDs"), b.find("clGetDeviceInfo")
	d.getPlatformIDs = func() ([]handle, status) {
		var n uint32
		if st := status(dl.Call(platforms, 0, 0, uintptr(unsafe.Pointer(&n)))); st != success || n == 0 {
			return nil, st
		}
		ids := make([]handle, n)
		st := status(dl.Call(platforms, uintptr(n), uintptr(unsafe.Pointer(&ids[0])), 0))
		return ids, st
	}
	d.getPlatformInfo = func(platform handle, key uint32) ([]byte, status) { return info(platformInfo, platform, key) }
	d.getDeviceIDs = func(platform handle) ([]handle, status) {
		const all = 0xFFFFFFFF
		var n uint32
		if st := status(dl.Call(devices, platform, all, 0, 0, uintptr(unsafe.Pointer(&n)))); st != success || n == 0 {
			return nil, st
		}
		ids := make([]handle, n)
		st := status(dl.Call(devices, platform, all, uintptr(n), uintptr(unsafe.Pointer(&ids[0])), 0))
		return ids, st
	}
	d.getDeviceInfo = func(dev handle, key uint32) ([]byte, status) { return info(deviceInfo, dev, key) }
}

// info asks one of the functions (object, key, size, value, size needed).
func info(fn uintptr, object handle, key uint32) ([]byte, status) {
	var n uintptr
	if st := status(dl.Call(fn, object, uintptr(key), 0, 0, uintptr(unsafe.Pointer(&n)))); st != success || n == 0 {
		return nil, st
	}
	value := make([]byte, n)
	st := status(dl.Call(fn, object, uintptr(key), n, uintptr(unsafe.Pointer(&value[0])), 0))
	return value, st
}

func (b *binder) contexts(d *driver) {
	create, release := b.find("clCreateContext"), b.find("clReleaseContext")
	queue, releaseQueue, flush := b.find("clCreateCommandQueue"), b.find("clReleaseCommandQueue"), b.find("clFlush")
	d.createContext = func(dev handle) (handle, status) {
		var st status
		c := dl.Call(create, 0, 1, uintptr(unsafe.Pointer(&dev)), 0, 0, uintptr(unsafe.Pointer(&st)))
		return c, st
	}
	d.releaseContext = func(context handle) status { return status(dl.Call(release, context)) }
	d.createCommandQueue = func(context, dev handle, properties uint64) (handle, status) {
		var st status
		q := dl.Call(queue, context, dev, uintptr(properties), uintptr(unsafe.Pointer(&st)))
		return q, st
	}
	d.releaseCommandQueue = func(queue handle) status { return status(dl.Call(releaseQueue, queue)) }
	d.flush = func(queue handle) status { return status(dl.Call(flush, queue)) }
}

func (b *binder) memory(d *driver) {
	create, sub, release := b.find("clCreateBuffer"), b.find("clCreateSubBuffer"), b.find("clReleaseMemObject")
	memInfo := b.find("clGetMemObjectInfo")
	d.createBuffer = func(context handle, flags uint64, size uintptr) (handle, status) {
		var st status
		m := dl.Call(create, context, uintptr(flags), size, 0, uintptr(unsafe.Pointer(&st)))
		return m, st
	}
	d.createSubBuffer = func(buffer handle, flags uint64, origin, size uintptr) (handle, status) {
		const region = 0x1220
		var st status
		part := [2]uintptr{origin, size}
		m := dl.Call(sub, buffer, uintptr(flags), region, uintptr(unsafe.Pointer(&part)), uintptr(unsafe.Pointer(&st)))
		return m, st
	}
	d.releaseMemObject = func(mem handle) status { return status(dl.Call(release, mem)) }
	d.getMemObjectInfo = func(mem handle, key uint32) (uintptr, status) {
		var n uintptr
		st := status(dl.Call(memInfo, mem, uintptr(key), unsafe.Sizeof(n), uintptr(unsafe.Pointer(&n)), 0))
		return n, st
	}
}

func (b *binder) programs(d *driver) {
	source, binary := b.find("clCreateProgramWithSource"), b.find("clCreateProgramWithBinary")
	build, buildInfo := b.find("clBuildProgram"), b.find("clGetProgramBuildInfo")
	programInfo, release := b.find("clGetProgramInfo"), b.find("clReleaseProgram")
	d.createProgramWithSource = func(context handle, text string) (handle, status) {
		var st status
		content, n := []byte(text+"\x00"), uintptr(len(text))
		at := &content[0]
		var pin runtime.Pinner
		pin.Pin(at)
		defer pin.Unpin()
		p := dl.Call(source, context, 1, uintptr(unsafe.Pointer(&at)), uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&st)))
		return p, st
	}
	d.createProgramWithBinary = func(context, dev handle, image []byte) (handle, status) {
		if len(image) == 0 {
			return 0, invalidBinary
		}
		var st status
		var each int32
		at, n := &image[0], uintptr(len(image))
		var pin runtime.Pinner
		pin.Pin(at)
		defer pin.Unpin()
		p := dl.Call(binary, context, 1, uintptr(unsafe.Pointer(&dev)), uintptr(unsafe.Pointer(&n)),
			uintptr(unsafe.Pointer(&at)), uintptr(unsafe.Pointer(&each)), uintptr(unsafe.Pointer(&st)))
		return p, st
	}
	d.buildProgram = func(program, dev handle, options string) status {
		text := []byte(options + "\x00")
		return status(dl.Call(build, program, 1, uintptr(unsafe.Pointer(&dev)), uintptr(unsafe.Pointer(&text[0])), 0, 0))
	}
	d.getProgramBuildLog = func(program, dev handle) string {
		var n uintptr
		if status(dl.Call(buildInfo, program, dev, programBuildLog, 0, 0, uintptr(unsafe.Pointer(&n)))) != success || n == 0 {
			return ""
		}
		log := make([]byte, n)
		if status(dl.Call(buildInfo, program, dev, programBuildLog, n, uintptr(unsafe.Pointer(&log[0])), 0)) != success {
			return ""
		}
		return text(log)
	}
	d.getProgramBinary = func(program handle) ([]byte, status) {
		var n uintptr // of the one device that it was built for
		size := unsafe.Sizeof(n)
		if st := status(dl.Call(programInfo, program, programBinarySizes, size, uintptr(unsafe.Pointer(&n)), 0)); st != success || n == 0 {
			return nil, st
		}
		image := make([]byte, n)
		at := &image[0]
		var pin runtime.Pinner
		pin.Pin(at)
		defer pin.Unpin()
		st := status(dl.Call(programInfo, program, programBinaries, size, uintptr(unsafe.Pointer(&at)), 0))
		return image, st
	}
	d.releaseProgram = func(program handle) status { return status(dl.Call(release, program)) }
}
