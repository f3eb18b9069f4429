// Package device moves bytes and launches code on processors: a Device has
// memory, ordered Streams of work, Events that mark points in them, and
// Modules of code. The interfaces fit CUDA and OpenCL; package device/host
// fulfils them on the CPU.
//
// # Order
//
// Work given to one stream runs in the order given; two streams are ordered
// only by events. Calls return when the work is enqueued, and Stream.Wait
// tells how it went: the first failure of a stream is sticky, names the call,
// and every later call on that stream returns it.
package device
