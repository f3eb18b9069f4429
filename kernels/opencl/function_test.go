package opencl_test

import (
	"testing"

	"github.com/volley-go/volley/kernels/kerneltest"
)

// What the compiler says of a user's kernel names the kernel and the line.
func TestFunctionErrors(t *testing.T) {
	for _, b := range backends(t) {
		t.Run(b.Device.Name(), func(t *testing.T) { kerneltest.FunctionErrors(t, b) })
	}
}
