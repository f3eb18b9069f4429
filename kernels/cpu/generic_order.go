package cpu

import "github.com/volley-go/volley/kernels"

// genericOrder puts the generic order kernels into s.
func genericOrder(s *kernels.Set) {
	s.SortIndices = kernels.Entry[kernels.SortIndicesFunc]{Func: sortIndices, Types: kernels.KeyTypes}
	s.TopK = kernels.Entry[kernels.TopKFunc]{Func: topK, Types: kernels.KeyTypes}
}
