package device

import "context"

// Foreign is a device that works on memory of other libraries of its driver, and
// after their events. Devices other than the host's are.
type Foreign interface {
	Device
	// Context is the driver's handle of the context that memory and events of
	// other libraries must be of: a CUcontext, the primary one; a cl_context.
	Context() uintptr
	// Extent is how many bytes a driver's handle of memory stands for, -1 where the
	// driver does not say: a CUdeviceptr, a cl_mem. Memory of another context is an
	// ErrMismatch.
	Extent(memory uintptr) (int64, error)
	// Await waits until an event of the driver was reached: a CUevent, a cl_event.
	// A failure there is the error. When ctx ends first it is an ErrCanceled; the
	// event is in use until done is called, which may be after the return.
	Await(ctx context.Context, event uintptr, done func()) error
	// RecordOn records an event of the device behind the work that a queue of
	// another library was given so far: a CUstream, of which 0 and 1 are the default
	// one. Where the driver's queues cannot be that it is an ErrUnsupported.
	RecordOn(queue uintptr, e Event) error
}
