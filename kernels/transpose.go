package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
)

// TransposeFunc writes the transpose of a to b, of the same type and the
// shape turned round, bit for bit. The two must not overlap.
type TransposeFunc func(ctx context.Context, s device.Stream, a, b Matrix) error

// Transpose checks its arguments as GEMM does and runs the set's Transpose.
func (b *Backend) Transpose(ctx context.Context, s device.Stream, a, t Matrix) (err error) {
	const call = "transpose"
	defer b.guard(call, &err)
	e := b.Set.Transpose
	if err := b.admit(ctx, s, call, e.Func != nil, e.Types); err != nil {
		return err
	}
	if err := b.checkMatrices(call, []string{"A", "B"}, e.Types, a, t); err != nil {
		return err
	}
	if a.Rows != t.Cols || a.Cols != t.Rows {
		return b.fail(device.ErrMismatch, call, "A is %d x %d, B is %d x %d", a.Rows, a.Cols, t.Rows, t.Cols)
	}
	return e.Func(ctx, s, a, t)
}
