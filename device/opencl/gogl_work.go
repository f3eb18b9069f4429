//go:build gogl_cl

package opencl

import (
	"unsafe"

	"github.com/go-gl/cl/v1.2/cl"
)

func (g *gogl) kernels(d *driver) {
	d.createKernel = func(program handle, name string) (handle, status) {
		var st cl.ErrorCode
		k := cl.CreateKernel(as[cl.Program](program), cl.Str(name+"\x00"), &st)
		return of(k), status(st)
	}
	d.getKernelNumArgs = func(kernel handle) (uint32, status) {
		var n uint32
		st := cl.GetKernelInfo(as[cl.Kernel](kernel), kernelNumArgs, uint64(unsafe.Sizeof(n)), unsafe.Pointer(&n), nil)
		return n, status(st)
	}
	d.getKernelWorkGroupInfo = func(kernel, dev handle, key uint32) (uint64, status) {
		var n uint64
		st := cl.GetKernelWorkGroupInfo(as[cl.Kernel](kernel), as[cl.DeviceId](dev), cl.KernelWorkGroupInfo(key), uint64(unsafe.Sizeof(n)), unsafe.Pointer(&n), nil)
		return n, status(st)
	}
	d.setKernelArg = func(kernel handle, index uint32, size uintptr, value unsafe.Pointer) status {
		return status(cl.SetKernelArg(as[cl.Kernel](kernel), index, uint64(size), value))
	}
	d.releaseKernel = func(kernel handle) status { return status(cl.ReleaseKernel(as[cl.Kernel](kernel))) }
	d.enqueueNDRangeKernel = func(queue, kernel handle, global, local []uintptr) (handle, status) {
		sizes := [2][3]uint64{}
		for i := range global {
			sizes[0][i], sizes[1][i] = uint64(global[i]), uint64(local[i])
		}
		var e cl.Event
		st := cl.EnqueueNDRangeKernel(as[cl.CommandQueue](queue), as[cl.Kernel](kernel), uint32(len(global)), nil, &sizes[0][0], &sizes[1][0], 0, nil, &e)
		return event0(&e), status(st)
	}
}

// event0 is the handle in an event of go-gl/cl: its first field.
func event0(e *cl.Event) handle { return *(*handle)(unsafe.Pointer(e)) }

// eventOf is an event of go-gl/cl for a handle.
func eventOf(h handle) cl.Event {
	var e cl.Event
	*(*handle)(unsafe.Pointer(&e)) = h
	return e
}

func (g *gogl) transfers(d *driver) {
	d.enqueueReadBuffer = func(queue, mem handle, offset uintptr, to []byte) (handle, status) {
		var e cl.Event
		st := cl.EnqueueReadBuffer(as[cl.CommandQueue](queue), as[cl.Mem](mem), cl.FALSE, uint64(offset), uint64(len(to)), unsafe.Pointer(&to[0]), 0, nil, &e)
		return event0(&e), status(st)
	}
	d.enqueueWriteBuffer = func(queue, mem handle, offset uintptr, from []byte) (handle, status) {
		var e cl.Event
		st := cl.EnqueueWriteBuffer(as[cl.CommandQueue](queue), as[cl.Mem](mem), cl.FALSE, uint64(offset), uint64(len(from)), unsafe.Pointer(&from[0]), 0, nil, &e)
		return event0(&e), status(st)
	}
	d.enqueueCopyBuffer = func(queue, src, dst handle, srcOffset, dstOffset, n uintptr) (handle, status) {
		var e cl.Event
		st := cl.EnqueueCopyBuffer(as[cl.CommandQueue](queue), as[cl.Mem](src), as[cl.Mem](dst), uint64(srcOffset), uint64(dstOffset), uint64(n), 0, nil, &e)
		return event0(&e), status(st)
	}
	d.enqueueFillBuffer = func(queue, mem handle, pattern []byte, offset, n uintptr) (handle, status) {
		var e cl.Event
		st := cl.EnqueueFillBuffer(as[cl.CommandQueue](queue), as[cl.Mem](mem), unsafe.Pointer(&pattern[0]), uint64(len(pattern)), uint64(offset), uint64(n), 0, nil, &e)
		return event0(&e), status(st)
	}
	d.enqueueMapBuffer = func(queue, mem handle, flags uint64, n uintptr) (unsafe.Pointer, status) {
		var st int32
		at := cl.EnqueueMapBuffer(as[cl.CommandQueue](queue), as[cl.Mem](mem), cl.TRUE, flags, 0, uint64(n), 0, nil, nil, &st)
		return at, status(st)
	}
	d.enqueueUnmapMemObject = func(queue, mem handle, mapped unsafe.Pointer) (handle, status) {
		var e cl.Event
		st := cl.EnqueueUnmapMemObject(as[cl.CommandQueue](queue), as[cl.Mem](mem), mapped, 0, nil, &e)
		return event0(&e), status(st)
	}
}

func (g *gogl) events(d *driver) {
	d.enqueueMarkerWithWaitList = func(queue handle, waits []handle) (handle, status) {
		var e cl.Event
		st := cl.EnqueueMarkerWithWaitList(as[cl.CommandQueue](queue), uint32(len(waits)), waitList(waits), &e)
		return event0(&e), status(st)
	}
	d.enqueueBarrier = func(queue handle, waits []handle) (handle, status) {
		var e cl.Event
		st := cl.EnqueueBarrierWithWaitList(as[cl.CommandQueue](queue), uint32(len(waits)), waitList(waits), &e)
		return event0(&e), status(st)
	}
	d.waitForEvent = func(event handle) status {
		e := eventOf(event)
		return status(cl.WaitForEvents(1, &e))
	}
	d.getEventStatus = func(event handle) (int32, status) {
		var s int32
		st := cl.GetEventInfo(eventOf(event), eventExecutionStatus, uint64(unsafe.Sizeof(s)), unsafe.Pointer(&s), nil)
		return s, status(st)
	}
	d.getEventCommandEnd = func(event handle) (uint64, status) {
		var at uint64
		st := cl.GetEventProfilingInfo(eventOf(event), profilingCommandEnd, uint64(unsafe.Sizeof(at)), unsafe.Pointer(&at), nil)
		return at, status(st)
	}
	d.releaseEvent = func(event handle) status { return status(cl.ReleaseEvent(eventOf(event))) }
}

// waitList is the handles one after another, as C has them: go-gl/cl's events
// are larger, and it hands their address on as it is.
func waitList(waits []handle) *cl.Event {
	if len(waits) == 0 {
		return nil
	}
	room := make([]cl.Event, len(waits))
	copy(unsafe.Slice((*handle)(unsafe.Pointer(&room[0])), len(waits)), waits)
	return &room[0]
}
