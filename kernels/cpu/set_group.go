package cpu

import "github.com/volley-go/volley/kernels"

// grouping puts the group kernels into s.
func (l *loops) grouping(s *kernels.Set) {
	s.Group = kernels.Entry[kernels.GroupFunc]{Func: l.group, Types: kernels.KeyTypes}
	s.Aggregate = kernels.Entry[kernels.AggregateFunc]{Func: l.aggregate, Types: kernels.KeyTypes}
	s.GroupBy = kernels.Entry[kernels.GroupByFunc]{Func: l.groupBy, Types: kernels.KeyTypes}
	s.Unique = kernels.Entry[kernels.UniqueFunc]{Func: l.unique, Types: kernels.KeyTypes}
	s.IsIn = kernels.Entry[kernels.IsInFunc]{Func: l.isIn, Types: kernels.KeyTypes}
	s.Members = kernels.Entry[kernels.MembersFunc]{Func: l.members, Types: kernels.KeyTypes}
}
