package reference

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/fma"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// addMatrix puts the reference loops of matrix kernels into s.
func addMatrix(s *kernels.Set) {
	s.GEMM = kernels.Entry[kernels.GEMMFunc]{Func: gemm, Types: kernels.FloatTypes}
	s.GEMV = kernels.Entry[kernels.GEMVFunc]{Func: gemv, Types: kernels.FloatTypes}
	s.Transpose = kernels.Entry[kernels.TransposeFunc]{Func: transpose, Types: kernels.FloatTypes}
}

func gemm(ctx context.Context, s device.Stream, transA, transB bool, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) error {
	if c.Type.ID() == arrow.FLOAT32 {
		return gemmLoops[float32](ctx, s, transA, transB, alpha, a, b, beta, c)
	}
	return gemmLoops[float64](ctx, s, transA, transB, alpha, a, b, beta, c)
}

// element gives the address of element (i, j) of op(m).
func element[T any](m kernels.Matrix, trans bool) func(i, j int64) *T {
	v := memory.View[T](m.Data)
	if trans {
		return func(i, j int64) *T { return &v[m.Offset+j*m.Stride+i] }
	}
	return func(i, j int64) *T { return &v[m.Offset+i*m.Stride+j] }
}

func gemmLoops[T float32 | float64](ctx context.Context, s device.Stream, transA, transB bool, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) error {
	atA, atB, atC := element[T](a, transA), element[T](b, transB), element[T](c, false)
	depth := a.Cols
	if transA {
		depth = a.Rows
	}
	if alpha == 0 {
		depth = 0
	}
	for i := range c.Rows {
		if err := device.Canceled(ctx, s.Device().Name(), ""); err != nil {
			return err
		}
		for j := range c.Cols {
			var v T
			if beta != 0 {
				v = T(T(beta) * *atC(i, j))
			}
			for from := int64(0); from < depth; from += kernels.GEMMBlock {
				var sum T
				for k := from; k < min(from+kernels.GEMMBlock, depth); k++ {
					sum = fma.Of(*atA(i, k), *atB(k, j), sum)
				}
				v = fma.Of(T(alpha), sum, v)
			}
			*atC(i, j) = v
		}
	}
	return nil
}

// columnVector is a vector as a matrix of one column.
func columnVector(m kernels.Matrix) kernels.Matrix {
	if m.Rows == 1 {
		m.Rows, m.Cols, m.Stride = m.Cols, 1, 1
	}
	return m
}

func gemv(ctx context.Context, s device.Stream, transA bool, alpha float64, a, x kernels.Matrix, beta float64, y kernels.Matrix) error {
	return gemm(ctx, s, transA, false, alpha, a, columnVector(x), beta, columnVector(y))
}

func transpose(ctx context.Context, s device.Stream, a, b kernels.Matrix) error {
	if a.Type.ID() == arrow.FLOAT32 {
		return transposeLoops[uint32](ctx, s, a, b)
	}
	return transposeLoops[uint64](ctx, s, a, b)
}

func transposeLoops[T uint32 | uint64](ctx context.Context, s device.Stream, a, b kernels.Matrix) error {
	atA, atB := element[T](a, false), element[T](b, false)
	for i := range a.Rows {
		if err := device.Canceled(ctx, s.Device().Name(), ""); err != nil {
			return err
		}
		for j := range a.Cols {
			*atB(j, i) = *atA(i, j)
		}
	}
	return nil
}
