package cpu

import "github.com/volley-go/volley/kernels"

// genericMovement puts the generic movement kernels into s.
func genericMovement(s *kernels.Set) {
}
