// Package reference holds the plain loops that say what each kernel means. They are the oracle of
// every backend's tests, written to be read and not to be fast.
package reference

import "github.com/volley-go/volley/kernels"

// New is the set of plain loops. It works on host columns, one value at a time, in one goroutine,
// and takes each type the kernel is defined for.
func New() *kernels.Set {
	s := &kernels.Set{Name: "reference"}
	addElementwise(s)
	addMovement(s)
	addReduce(s)
	addOrder(s)
	addGroup(s)
	addJoin(s)
	addMatrix(s)
	return s
}
