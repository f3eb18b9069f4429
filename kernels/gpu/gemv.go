package gpu

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// gemv is the GPU's GEMVFunc, in a shape of its own: see gemm.
func (e *Engine) gemv(ctx context.Context, s device.Stream, transA bool, alpha float64, a, x kernels.Matrix, beta float64, y kernels.Matrix) error {
	return e.product(ctx, s, transA, alpha, a, x, x.Rows == 1, beta, y, y.Rows == 1)
}

// product is y = alpha * op(A) * x + beta * y, where x and y, transposed where
// asked for, have one column.
func (e *Engine) product(ctx context.Context, s device.Stream, transA bool, alpha float64, a, x kernels.Matrix, transX bool, beta float64, y kernels.Matrix, transY bool) (err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	from, with, to := c.matrixView("A", a, transA), c.matrixView("x", x, transX), c.matrixView("y", y, transY)
	m, depth := to.rows, from.cols
	if m == 0 {
		return c.err
	}
	if alpha == 0 || depth == 0 {
		alpha, depth = 0, 0
	}
	entry, rows := "gemv_rows", int64(group/32)
	if from.col != 1 {
		entry, rows = "gemv_columns", 32
	}
	groups := groupsFor(m, rows)
	splits, split := c.splits(groups/4, depth)
	parts := c.temp(splits * m * int64(memory.Width(y.Type)))
	args := append(from.args(), with.vector, with.row, m, depth, split, parts)
	c.launchGrid(matrixModule("gemv", y.Type), entry, device.Grid{Groups: [3]int64{groups, splits}, Items: [3]int{group}}, args...)
	c.join(y.Type, parts, splits, to, alpha, beta)
	return c.err
}
