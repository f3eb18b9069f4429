package cpu

import "github.com/volley-go/volley/kernels"

// joining puts the join kernels into s.
func (l *loops) joining(s *kernels.Set) {
	s.JoinBuild = kernels.Entry[kernels.JoinBuildFunc]{Func: l.joinBuild, Types: kernels.KeyTypes}
	s.JoinColumns = kernels.Entry[kernels.JoinColumnsFunc]{Func: l.joinColumns, Types: kernels.JoinColumnsKeys}
	s.Cross = kernels.Entry[kernels.CrossFunc]{Func: cross}
}
