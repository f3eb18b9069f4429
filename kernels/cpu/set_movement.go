package cpu

import "github.com/volley-go/volley/kernels"

// movement puts the movement kernels into s.
func (l *loops) movement(s *kernels.Set) {
	s.Filter = kernels.Entry[kernels.FilterFunc]{Func: l.filterColumn, Types: kernels.AllTypes}
	s.FilterWhere = kernels.Entry[kernels.FilterWhereFunc]{Func: l.filterWhere, Types: kernels.FixedTypes}
	s.Take = kernels.Entry[kernels.TakeFunc]{Func: l.takeColumn, Types: kernels.AllTypes}
	s.Concat = kernels.Entry[kernels.ConcatFunc]{Func: concat, Types: kernels.AllTypes}
	s.Partition = kernels.Entry[kernels.PartitionFunc]{Func: partition(s), Types: kernels.KeyTypes}
}
