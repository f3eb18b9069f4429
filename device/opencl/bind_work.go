//go:build !gogl_cl

package opencl

import (
	"unsafe"

	"github.com/volley-go/volley/internal/dl"
)

func (b *binder) kernels(d *driver) {
	create, release := b.find("clCreateKernel"), b.find("clReleaseKernel")
	kernelInfo, groupInfo := b.find("clGetKernelInfo"), b.find("clGetKernelWorkGroupInfo")
	set, enqueue := b.find("clSetKernelArg"), b.find("clEnqueueNDRangeKernel")
	d.createKernel = func(program handle, name string) (handle, status) {
		var st status
		text := []byte(name + "\x00")
		k := dl.Call(create, program, uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&st)))
		return k, st
	}
	d.getKernelNumArgs = func(kernel handle) (uint32, status) {
		var n uint32
		st := status(dl.Call(kernelInfo, kernel, kernelNumArgs, unsafe.Sizeof(n), uintptr(unsafe.Pointer(&n)), 0))
		return n, st
	}
	d.getKernelWorkGroupInfo = func(kernel, dev handle, key uint32) (uint64, status) {
		var n uint64
		st := status(dl.Call(groupInfo, kernel, dev, uintptr(key), unsafe.Sizeof(n), uintptr(unsafe.Pointer(&n)), 0))
		return n, st
	}
	d.setKernelArg = func(kernel handle, index uint32, size uintptr, value unsafe.Pointer) status {
		return status(dl.Call(set, kernel, uintptr(index), size, uintptr(value)))
	}
	d.releaseKernel = func(kernel handle) status { return status(dl.Call(release, kernel)) }
	d.enqueueNDRangeKernel = func(queue, kernel handle, global, local []uintptr) (handle, status) {
		var e handle
		st := status(dl.Call(enqueue, queue, kernel, uintptr(len(global)), 0, uintptr(unsafe.Pointer(&global[0])),
			uintptr(unsafe.Pointer(&local[0])), 0, 0, uintptr(unsafe.Pointer(&e))))
		return e, st
	}
}

func (b *binder) transfers(d *driver) {
	read, write := b.find("clEnqueueReadBuffer"), b.find("clEnqueueWriteBuffer")
	copies, fill := b.find("clEnqueueCopyBuffer"), b.find("clEnqueueFillBuffer")
	mapBuffer, unmap := b.find("clEnqueueMapBuffer"), b.find("clEnqueueUnmapMemObject")
	d.enqueueReadBuffer = func(queue, mem handle, offset uintptr, to []byte) (handle, status) {
		var e handle
		st := status(dl.Call(read, queue, mem, 0, offset, uintptr(len(to)), uintptr(unsafe.Pointer(&to[0])), 0, 0, uintptr(unsafe.Pointer(&e))))
		return e, st
	}
	d.enqueueWriteBuffer = func(queue, mem handle, offset uintptr, from []byte) (handle, status) {
		var e handle
		st := status(dl.Call(write, queue, mem, 0, offset, uintptr(len(from)), uintptr(unsafe.Pointer(&from[0])), 0, 0, uintptr(unsafe.Pointer(&e))))
		return e, st
	}
	d.enqueueCopyBuffer = func(queue, src, dst handle, srcOffset, dstOffset, n uintptr) (handle, status) {
		var e handle
		st := status(dl.Call(copies, queue, src, dst, srcOffset, dstOffset, n, 0, 0, uintptr(unsafe.Pointer(&e))))
		return e, st
	}
	d.enqueueFillBuffer = func(queue, mem handle, pattern []byte, offset, n uintptr) (handle, status) {
		var e handle
		st := status(dl.Call(fill, queue, mem, uintptr(unsafe.Pointer(&pattern[0])), uintptr(len(pattern)), offset, n, 0, 0, uintptr(unsafe.Pointer(&e))))
		return e, st
	}
	d.enqueueMapBuffer = func(queue, mem handle, flags uint64, n uintptr) (unsafe.Pointer, status) {
		var st status
		at := dl.Call(mapBuffer, queue, mem, 1, uintptr(flags), 0, n, 0, 0, 0, uintptr(unsafe.Pointer(&st)))
		return foreign(at), st
	}
	d.enqueueUnmapMemObject = func(queue, mem handle, mapped unsafe.Pointer) (handle, status) {
		var e handle
		st := status(dl.Call(unmap, queue, mem, uintptr(mapped), 0, 0, uintptr(unsafe.Pointer(&e))))
		return e, st
	}
}

// foreign is an address of the driver's memory as a pointer.
func foreign(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

func (b *binder) events(d *driver) {
	marker, barrier := b.find("clEnqueueMarkerWithWaitList"), b.find("clEnqueueBarrierWithWaitList")
	wait, eventInfo := b.find("clWaitForEvents"), b.find("clGetEventInfo")
	profiling, release := b.find("clGetEventProfilingInfo"), b.find("clReleaseEvent")
	d.enqueueMarkerWithWaitList = func(queue handle, waits []handle) (handle, status) { return after(marker, queue, waits) }
	d.enqueueBarrier = func(queue handle, waits []handle) (handle, status) { return after(barrier, queue, waits) }
	d.waitForEvent = func(event handle) status {
		return status(dl.Call(wait, 1, uintptr(unsafe.Pointer(&event))))
	}
	d.getEventStatus = func(event handle) (int32, status) {
		var s int32
		st := status(dl.Call(eventInfo, event, eventExecutionStatus, unsafe.Sizeof(s), uintptr(unsafe.Pointer(&s)), 0))
		return s, st
	}
	d.getEventCommandEnd = func(event handle) (uint64, status) {
		var at uint64
		st := status(dl.Call(profiling, event, profilingCommandEnd, unsafe.Sizeof(at), uintptr(unsafe.Pointer(&at)), 0))
		return at, st
	}
	d.releaseEvent = func(event handle) status { return status(dl.Call(release, event)) }
}

// after calls one of the functions (queue, count, events, event).
func after(fn uintptr, queue handle, waits []handle) (handle, status) {
	var e handle
	st := status(dl.Call(fn, queue, uintptr(len(waits)), uintptr(unsafe.Pointer(unsafe.SliceData(waits))), uintptr(unsafe.Pointer(&e))))
	return e, st
}

func (b *binder) svm(d *driver) {
	alloc, free, set := b.lib.Optional("clSVMAlloc"), b.lib.Optional("clSVMFree"), b.lib.Optional("clSetKernelArgSVMPointer")
	if alloc == 0 || free == 0 || set == 0 {
		return
	}
	d.svmAlloc = func(context handle, flags uint64, size uintptr) unsafe.Pointer {
		return foreign(dl.Call(alloc, context, uintptr(flags), size, 0))
	}
	d.svmFree = func(context handle, at unsafe.Pointer) { dl.Call(free, context, uintptr(at)) }
	d.setKernelArgSVMPointer = func(kernel handle, index uint32, value unsafe.Pointer) status {
		return status(dl.Call(set, kernel, uintptr(index), uintptr(value)))
	}
}
