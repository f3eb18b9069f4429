// Package opencl is the kernels for OpenCL devices: those of package gpu,
// compiled at run time by the device's own driver.
package opencl
