// Package memory holds bytes and says where they live: reference-counted
// buffers on the host or on a device, allocators for them, bitmaps, and
// columns, which are Arrow arrays spread over such buffers.
//
// The package knows nothing of streams or kernels: it names a place and keeps
// count. Moving bytes between places is the job of package device.
//
// # Ownership
//
// Buffers and columns are counted: a constructor returns one reference,
// Retain adds one, Release drops one and frees the bytes with the last.
// Host memory is garbage-collected Go memory, so that a forgotten Release
// costs reuse and never correctness; device memory is not, and must be
// released.
package memory
