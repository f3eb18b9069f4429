// Package cuda is the device on NVIDIA GPUs, over the CUDA Driver API alone: a
// user needs the driver that every NVIDIA machine has (libcuda.so.1, nvcuda.dll)
// and no toolkit. The library is loaded at run time, so that a program starts
// on any machine and "no CUDA here" is an error value with the reasons.
//
// Code comes as PTX (device.Source.Image), or as CUDA C (Source.Text) where the
// run-time compiler NVRTC can be loaded.
//
// # Threads and contexts
//
// A device uses the primary context of its GPU, which it shares with other CUDA
// libraries of the process. Every group of driver calls locks its goroutine to
// the thread, pushes the context and pops it again: no thread keeps a context
// that it had not before, also when the thread is somebody else's.
package cuda
