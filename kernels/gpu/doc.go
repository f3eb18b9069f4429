// Package gpu is the host side of the kernels for GPUs, written once for CUDA
// and OpenCL: it plans grids and passes, keeps scratch memory, and launches the
// entries of src/*.cl, which hold every kernel once in a dialect that both
// languages share.
//
// # The shared dialect
//
// A kernel is written in a subset of C99 with the names of a prelude
// (kernels/opencl/prelude.h, kernels/cuda/prelude.h) and of src/dialect.h:
// KERNEL, FN, GLOBAL, LOCAL, SHARED, TID, BID, BARRIER, atomics, and shuffles
// where HAVE_WARP is 1. There is no vendor's name in a kernel. Work-groups have
// at most 256 items and 32 KiB of local memory. Lengths and offsets are i64.
// docs/dialect.md lists the names and the rules.
//
// A file stem.cl is one module, or, where its first line reads
// "// variants: i32 f64", one module a variant, named "stem.i32". A variant
// that names a type (i8 … u64, f32, f64) defines T as that type; two, as in
// "i32_f64", define T and U; any other is only seen through V_name, which is
// defined for every variant. K(name) appends the variant to an entry's name, so
// that names are unique over all modules. A line #include "x.h" takes in
// src/x.h, once.
//
// # Arguments
//
// A column's buffer is two arguments: a pointer to its allocation and, as i64,
// the window's first element counted from there (bits, of a bitmap): see
// Values and Validity. Scratch buffers are one argument, a pointer.
package gpu
