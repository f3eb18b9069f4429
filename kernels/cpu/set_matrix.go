package cpu

import "github.com/volley-go/volley/kernels"

// matrices puts the matrix kernels into s.
func (l *loops) matrices(s *kernels.Set) {
	s.GEMM = kernels.Entry[kernels.GEMMFunc]{Func: gemm, Types: kernels.FloatTypes}
	s.GEMV = kernels.Entry[kernels.GEMVFunc]{Func: gemv, Types: kernels.FloatTypes}
	s.Transpose = kernels.Entry[kernels.TransposeFunc]{Func: transpose, Types: kernels.FloatTypes}
}
