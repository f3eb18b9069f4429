package cpu

import "github.com/volley-go/volley/kernels"

// reduction puts the reduce kernels into s.
func (l *loops) reduction(s *kernels.Set) {
	s.Reduce = kernels.Entry[kernels.ReduceFunc]{Func: l.reduceColumn, Types: kernels.KeyTypes}
	s.MinMax = kernels.Entry[kernels.MinMaxFunc]{Func: l.minMax, Types: kernels.NumberTypes}
	s.Scan = kernels.Entry[kernels.ScanFunc]{Func: l.scan, Types: kernels.ScanTypes}
}
