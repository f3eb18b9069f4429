package cpu

import "github.com/volley-go/volley/kernels"

// genericReduce puts the generic reduce kernels into s.
func genericReduce(s *kernels.Set) {
	s.Reduce = kernels.Entry[kernels.ReduceFunc]{Func: reduce, Types: kernels.KeyTypes}
	s.Scan = kernels.Entry[kernels.ScanFunc]{Func: scan, Types: kernels.ScanTypes}
}
