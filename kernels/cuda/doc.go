// Package cuda is the kernels for CUDA devices: those of package gpu, embedded
// as PTX, so that a driver is all that a user needs.
package cuda
