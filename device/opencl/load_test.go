//go:build !gogl_cl

package opencl

import (
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/dl"
)

// TestDriverMissing tells each name that was tried.
func TestDriverMissing(t *testing.T) {
	_, err := loadFrom("libvolley-none.so.1", "libvolley-none.so")
	says(t, err, device.ErrUnavailable, "libvolley-none.so.1: ", "libvolley-none.so: ")
}

// TestDriverTooOld loads a library that lacks the functions of OpenCL.
func TestDriverTooOld(t *testing.T) {
	_, err := loadFrom("libc.so.6", "msvcrt.dll", "/usr/lib/libSystem.B.dylib")
	says(t, err, device.ErrUnavailable)
	if dl.Available {
		says(t, err, device.ErrUnavailable, "OpenCL 1.2 is needed", "clGetPlatformIDs")
	}
}
