package cpu

import "github.com/volley-go/volley/kernels"

// Generic is the tier in plain Go, which every processor runs.
func Generic() *kernels.Set {
	s := &kernels.Set{Name: "generic"}
	genericElementwise(s)
	genericMovement(s)
	genericReduce(s)
	genericOrder(s)
	genericGroup(s)
	genericJoin(s)
	genericMatrix(s)
	return s
}
