package cpu

import "github.com/volley-go/volley/kernels"

// genericGroup puts the generic group kernels into s.
func genericGroup(s *kernels.Set) {
}
