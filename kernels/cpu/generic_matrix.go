package cpu

import "github.com/volley-go/volley/kernels"

// genericMatrix puts the generic matrix kernels into s.
func genericMatrix(s *kernels.Set) {
}
