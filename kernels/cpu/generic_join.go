package cpu

import "github.com/volley-go/volley/kernels"

// genericJoin puts the generic join kernels into s.
func genericJoin(s *kernels.Set) {
}
