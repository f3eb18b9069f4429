package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
)

// GEMMFunc computes C = alpha * op(A) * op(B) + beta * C in place, op being the
// transpose where asked for: op(A) is m x k, op(B) k x n, C m x n, all of one
// type. With beta 0 what C held is not read, with alpha 0 neither A nor B is.
// C must not overlap A or B.
//
// Each element is computed in the matrices' type in a fixed shape. k is cut
// into blocks of GEMMBlock, the last one short. The products of a block are
// added in rising k to a sum that begins at 0; c begins as beta * C (0 with
// beta 0), and alpha times the sum of each block is added to it, block after
// block. A product and its addition are rounded once, as by math.FMA. The bound is |error| <=
// (k+2) * 2^-52 * (|alpha| * sum|a||b| + |beta C|) for float64, 2^-23 for
// float32; a device that keeps another shape keeps that bound, but where a
// product or a sum overflows it may give another infinity or NaN.
type GEMMFunc func(ctx context.Context, s device.Stream, transA, transB bool, alpha float64, a, b Matrix, beta float64, c Matrix) error

// GEMMBlock is how many products GEMM and GEMV add up at a time.
const GEMMBlock = 256

// GEMM checks its arguments and runs the set's GEMM. Shapes or types that
// disagree, a window outside of its buffer, and a C that overlaps A or B are an
// ErrMismatch that names the argument.
func (b *Backend) GEMM(ctx context.Context, s device.Stream, transA, transB bool, alpha float64, a, bm Matrix, beta float64, c Matrix) (err error) {
	const call = "gemm"
	defer b.guard(call, &err)
	e := b.Set.GEMM
	if err := b.admit(ctx, s, call, e.Func != nil, e.Types); err != nil {
		return err
	}
	if err := b.checkMatrices(call, []string{"A", "B", "C"}, e.Types, a, bm, c); err != nil {
		return err
	}
	m, k := a.op(transA)
	kb, n := bm.op(transB)
	if k != kb {
		return b.fail(device.ErrMismatch, call, "op(A) is %d x %d, op(B) is %d x %d", m, k, kb, n)
	}
	if c.Rows != m || c.Cols != n {
		return b.fail(device.ErrMismatch, call, "C is %d x %d, op(A) op(B) is %d x %d", c.Rows, c.Cols, m, n)
	}
	return e.Func(ctx, s, transA, transB, alpha, a, bm, beta, c)
}

// checkMatrices checks each matrix, that all are of one type, and that the
// last one, the result, overlaps no other.
func (b *Backend) checkMatrices(call string, names []string, types Types, ms ...Matrix) error {
	for i, m := range ms {
		if err := b.checkMatrix(call, names[i], m, types); err != nil {
			return err
		}
	}
	if err := b.sameTypes(call, names, ms...); err != nil {
		return err
	}
	last := len(ms) - 1
	for i, m := range ms[:last] {
		if err := b.apart(call, names[last], ms[last], names[i], m); err != nil {
			return err
		}
	}
	return nil
}
