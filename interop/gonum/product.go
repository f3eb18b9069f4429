package gonum

import (
	"errors"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"gonum.org/v1/gonum/blas"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

type float interface{ float32 | float64 }

// Dgemm computes C = alpha * op(A) * op(B) + beta * C.
func (b *BLAS) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, bm []float64, ldb int, beta float64, c []float64, ldc int) {
	if !gemm(b, tA, tB, m, n, k, alpha, a, lda, bm, ldb, beta, c, ldc) {
		b.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, bm, ldb, beta, c, ldc)
	}
}

// Sgemm computes C = alpha * op(A) * op(B) + beta * C.
func (b *BLAS) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, bm []float32, ldb int, beta float32, c []float32, ldc int) {
	if !gemm(b, tA, tB, m, n, k, float64(alpha), a, lda, bm, ldb, float64(beta), c, ldc) {
		b.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, bm, ldb, beta, c, ldc)
	}
}

// Dgemv computes y = alpha * op(A) * x + beta * y.
func (b *BLAS) Dgemv(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	if !gemv(b, tA, m, n, alpha, a, lda, x, incX, beta, y, incY) {
		b.Implementation.Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Sgemv computes y = alpha * op(A) * x + beta * y.
func (b *BLAS) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
	if !gemv(b, tA, m, n, float64(alpha), a, lda, x, incX, float64(beta), y, incY) {
		b.Implementation.Sgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// gemm computes a product, and reports whether it was one of ours: not too
// small, and with arguments that our kernel takes.
func gemm[T float](b *BLAS, tA, tB blas.Transpose, m, n, k int, alpha float64, a []T, lda int, bm []T, ldb int, beta float64, c []T, ldc int) bool {
	if !known(tA) || !known(tB) || m <= 0 || n <= 0 || k <= 0 || m*n*k < b.product {
		return false
	}
	ra, ca, rb, cb := m, k, k, n
	if tA != blas.NoTrans {
		ra, ca = ca, ra
	}
	if tB != blas.NoTrans {
		rb, cb = cb, rb
	}
	if !fits(a, ra, ca, lda) || !fits(bm, rb, cb, ldb) || !fits(c, m, n, ldc) {
		return false
	}
	err := b.backend.GEMM(b.ctx, b.stream, tA != blas.NoTrans, tB != blas.NoTrans, alpha,
		matrix(a, ra, ca, lda), matrix(bm, rb, cb, ldb), beta, matrix(c, m, n, ldc))
	return b.ours(err, func() { invalidate(c, m, n, ldc) })
}

// gemv is the same of a matrix and a vector.
func gemv[T float](b *BLAS, tA blas.Transpose, m, n int, alpha float64, a []T, lda int, x []T, incX int, beta float64, y []T, incY int) bool {
	if !known(tA) || m <= 0 || n <= 0 || incX <= 0 || incY <= 0 || m*n < b.affine {
		return false
	}
	nx, ny := n, m
	if tA != blas.NoTrans {
		nx, ny = ny, nx
	}
	if !fits(a, m, n, lda) || !fits(x, nx, 1, incX) || !fits(y, ny, 1, incY) {
		return false
	}
	err := b.backend.GEMV(b.ctx, b.stream, tA != blas.NoTrans, alpha,
		matrix(a, m, n, lda), matrix(x, nx, 1, incX), beta, matrix(y, ny, 1, incY))
	return b.ours(err, func() { invalidate(y, ny, 1, incY) })
}

// ours reports whether a product was computed, or failed and is not to be
// computed otherwise. A mismatch, which kernels find before they write, leaves
// it to gonum: a result that overlaps an operand.
func (b *BLAS) ours(err error, invalidate func()) bool {
	if errors.Is(err, device.ErrMismatch) {
		return false
	}
	if err != nil {
		invalidate()
		b.failed(err)
	}
	return true
}

func known(t blas.Transpose) bool {
	return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans
}

// fits reports whether the matrix lies within v.
func fits[T float](v []T, rows, cols, stride int) bool {
	return stride >= cols && len(v) >= (rows-1)*stride+cols
}

// matrix is a kernel's view of gonum's memory.
func matrix[T float](v []T, rows, cols, stride int) kernels.Matrix {
	var t T
	kind := arrow.PrimitiveTypes.Float64
	if unsafe.Sizeof(t) == 4 {
		kind = arrow.PrimitiveTypes.Float32
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(t)))
	return kernels.Matrix{Data: memory.Wrap(bytes, nil), Type: kind, Rows: int64(rows), Cols: int64(cols), Stride: int64(stride)}
}
