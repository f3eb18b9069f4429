package cpu

import "github.com/volley-go/volley/kernels"

// genericReduce puts the generic reduce kernels into s.
func genericReduce(s *kernels.Set) {
}
