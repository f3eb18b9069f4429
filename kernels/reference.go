package kernels

import (
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Reference is the set of plain loops: the meaning of every kernel and the
// oracle of every backend. It works on host columns, one value at a time, in
// one goroutine, and takes each type the kernel is defined for.
func Reference() *Set {
	s := &Set{Name: "reference"}
	referenceElementwise(s)
	referenceMovement(s)
	referenceReduce(s)
	referenceOrder(s)
	referenceGroup(s)
	referenceJoin(s)
	referenceMatrix(s)
	return s
}

// allocator is where a kernel on the host puts its results.
func allocator(s device.Stream) memory.Allocator { return s.Device().Memory() }
