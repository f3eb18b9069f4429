package cpu

import "github.com/volley-go/volley/kernels"

// genericJoin puts the generic join kernels into s.
func genericJoin(s *kernels.Set) {
	s.JoinBuild = kernels.Entry[kernels.JoinBuildFunc]{Func: joinBuild, Types: kernels.KeyTypes}
	s.Cross = kernels.Entry[kernels.CrossFunc]{Func: cross}
}
