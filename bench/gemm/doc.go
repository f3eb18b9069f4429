// Package gemm is the suite of products of square matrices, in float32 and
// float64, by every engine that a device has for them: the module's own kernel
// and, where the machine has one, a vendor's library.
package gemm
