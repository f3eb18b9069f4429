package opencl

import "unsafe"

// driver is the functions of OpenCL as they are called here. A test's fake is
// a literal of it. Names are those of cl.h without the cl; a status beside
// another result is that of the call. Every enqueue gives an event, which the
// caller releases, and waits for the events in waits first. Optional functions
// are nil where the driver has not got them.
type driver struct {
	path string // what was loaded

	getPlatformIDs  func() ([]handle, status)
	getPlatformInfo func(platform handle, key uint32) ([]byte, status)
	getDeviceIDs    func(platform handle) ([]handle, status)
	getDeviceInfo   func(dev handle, key uint32) ([]byte, status)

	createContext       func(dev handle) (handle, status)
	releaseContext      func(context handle) status
	createCommandQueue  func(context, dev handle, properties uint64) (handle, status)
	releaseCommandQueue func(queue handle) status
	flush               func(queue handle) status

	createBuffer     func(context handle, flags uint64, size uintptr) (handle, status)
	createSubBuffer  func(buffer handle, flags uint64, origin, size uintptr) (handle, status)
	releaseMemObject func(mem handle) status
	getMemObjectInfo func(mem handle, key uint32) (uintptr, status)

	createProgramWithSource func(context handle, text string) (handle, status)
	createProgramWithBinary func(context, dev handle, image []byte) (handle, status)
	buildProgram            func(program, dev handle, options string) status
	getProgramBuildLog      func(program, dev handle) string
	getProgramBinary        func(program handle) ([]byte, status)
	releaseProgram          func(program handle) status

	createKernel           func(program handle, name string) (handle, status)
	getKernelNumArgs       func(kernel handle) (uint32, status)
	getKernelWorkGroupInfo func(kernel, dev handle, key uint32) (uint64, status)
	setKernelArg           func(kernel handle, index uint32, size uintptr, value unsafe.Pointer) status
	releaseKernel          func(kernel handle) status

	enqueueNDRangeKernel      func(queue, kernel handle, global, local []uintptr) (handle, status)
	enqueueReadBuffer         func(queue, mem handle, offset uintptr, to []byte) (handle, status)
	enqueueWriteBuffer        func(queue, mem handle, offset uintptr, from []byte) (handle, status)
	enqueueCopyBuffer         func(queue, src, dst handle, srcOffset, dstOffset, n uintptr) (handle, status)
	enqueueFillBuffer         func(queue, mem handle, pattern []byte, offset, n uintptr) (handle, status)
	enqueueMapBuffer          func(queue, mem handle, flags uint64, n uintptr) (unsafe.Pointer, status) // blocking
	enqueueUnmapMemObject     func(queue, mem handle, mapped unsafe.Pointer) (handle, status)
	enqueueMarkerWithWaitList func(queue handle, waits []handle) (handle, status)
	enqueueBarrier            func(queue handle, waits []handle) (handle, status) // clEnqueueBarrierWithWaitList

	waitForEvent       func(event handle) status
	getEventStatus     func(event handle) (int32, status)
	getEventCommandEnd func(event handle) (uint64, status) // nanoseconds
	releaseEvent       func(event handle) status

	svmAlloc               func(context handle, flags uint64, size uintptr) unsafe.Pointer // optional
	svmFree                func(context handle, at unsafe.Pointer)                         // optional
	setKernelArgSVMPointer func(kernel handle, index uint32, value unsafe.Pointer) status  // optional
}
