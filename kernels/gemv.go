package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
)

// GEMVFunc computes y = alpha * op(A) * x + beta * y in place, in the shape and
// with the bound of GEMM. x and y are vectors: matrices of one row or one
// column.
type GEMVFunc func(ctx context.Context, s device.Stream, transA bool, alpha float64, a, x Matrix, beta float64, y Matrix) error

// GEMV checks its arguments as GEMM does and runs the set's GEMV.
func (b *Backend) GEMV(ctx context.Context, s device.Stream, transA bool, alpha float64, a, x Matrix, beta float64, y Matrix) (err error) {
	const call = "gemv"
	defer b.guard(call, &err)
	e := b.Set.GEMV
	if err := b.admit(ctx, s, call, e.Func != nil, e.Types); err != nil {
		return err
	}
	if err := b.checkMatrices(call, []string{"A", "x", "y"}, e.Types, a, x, y); err != nil {
		return err
	}
	m, k := a.op(transA)
	_, _, nx, err := x.Vector()
	if err != nil {
		return b.fail(device.ErrMismatch, call, "x: %d x %d is no vector", x.Rows, x.Cols)
	}
	_, _, ny, err := y.Vector()
	if err != nil {
		return b.fail(device.ErrMismatch, call, "y: %d x %d is no vector", y.Rows, y.Cols)
	}
	if nx != k || ny != m {
		return b.fail(device.ErrMismatch, call, "op(A) is %d x %d, x has %d elements, y has %d", m, k, nx, ny)
	}
	return e.Func(ctx, s, transA, alpha, a, x, beta, y)
}
