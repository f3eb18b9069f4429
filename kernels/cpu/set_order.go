package cpu

import "github.com/volley-go/volley/kernels"

// ordering puts the order kernels into s.
func (l *loops) ordering(s *kernels.Set) {
	s.SortIndices = kernels.Entry[kernels.SortIndicesFunc]{Func: l.sortIndices, Types: kernels.KeyTypes}
	s.SortColumns = kernels.Entry[kernels.SortColumnsFunc]{Func: l.sortColumns, Types: kernels.KeyTypes}
	s.TopK = kernels.Entry[kernels.TopKFunc]{Func: l.topK, Types: kernels.KeyTypes}
}
