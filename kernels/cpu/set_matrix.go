package cpu

import "github.com/volley-go/volley/kernels"

// matrices puts the matrix kernels into s.
func (l *loops) matrices(s *kernels.Set) {
	s.GEMM = kernels.Entry[kernels.GEMMFunc]{Func: l.gemm, Types: kernels.FloatTypes}
	s.GEMV = kernels.Entry[kernels.GEMVFunc]{Func: l.gemv, Types: kernels.FloatTypes}
	s.Transpose = kernels.Entry[kernels.TransposeFunc]{Func: l.transpose, Types: kernels.FloatTypes}
}
