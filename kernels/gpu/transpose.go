package gpu

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// transpose is the GPU's TransposeFunc.
func (e *Engine) transpose(ctx context.Context, s device.Stream, a, b kernels.Matrix) (err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	from, to := c.matrixView("A", a, false), c.matrixView("B", b, false)
	if from.rows == 0 || from.cols == 0 {
		return c.err
	}
	tiles := groupsFor(from.rows, 32) * groupsFor(from.cols, 32)
	c.launch(rowsModule("transpose", memory.Width(a.Type)), "transpose", tiles, from.vector, from.row, to.vector, to.row, from.rows, from.cols)
	return c.err
}
