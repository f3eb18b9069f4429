// Package opencl is OpenCL 1.2 and later behind the interfaces of package
// device: "opencl:0", "opencl:1" and so on for every device of every platform,
// GPUs first. The driver is loaded when it is first asked for; where there is
// none, List and Open say what was tried.
//
// # Streams
//
// A Stream is an in-order command queue. Work is given to the driver by the
// call itself, unless host work (Call) is ahead of it in the stream; a goroutine
// that lives while there is work waits for it in order and gives back what it
// held. Work that follows host work is given to the driver when that is done.
//
// # Memory
//
// A buffer is a cl_mem (Block.Handle). Buffers of one device are good on every
// opening of it: they share a context. Drivers allocate when memory is first
// used; the allocator uses it at once, so that running out of memory is an
// error of Allocate and not of a later launch. What is freed is kept for reuse.
// Buffers are not in host memory, whatever the device: Place has DLPack's number
// for OpenCL.
//
// # Launches
//
// The arguments are buffers, Bases and numbers of fixed size (int8 to int64,
// uint8 to uint64, float32, float64), one for each parameter of the kernel. A
// buffer that does not begin at the start of its allocation must begin at a
// multiple of the device's alignment, else it is an ErrMismatch; Base has no
// such limit. When Grid.Local is not 0, the kernel's last parameter is a local
// pointer, which has no argument and gets that many bytes.
package opencl
