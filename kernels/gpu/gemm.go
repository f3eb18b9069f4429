package gpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

const (
	// splitDepth is the least depth of a product that is worth groups of its own.
	splitDepth = 256
	// splitStep divides where a split begins, so that gemm reads in vectors.
	splitStep = 16
	// thinMost is how many rows and columns C may have to be computed by
	// gemm_thin where the depth is at least thinDepth. With more, tiles of gemm
	// that are partly empty cost less than reading A and B several times.
	thinMost, thinDepth = 16, 1024
	thinSide            = 4   // THIN of gemm.cl
	tileSide            = 128 // TILE_M and TILE_N
)

// gemm is the GPU's GEMMFunc. Products are fused with their additions and added
// in rising k, in as many parts as it takes to fill the device, which are then
// added in their order: another shape than the reference's, within its bound.
func (e *Engine) gemm(ctx context.Context, s device.Stream, transA, transB bool, alpha float64, a, b kernels.Matrix, beta float64, out kernels.Matrix) (err error) {
	if out.Cols == 1 {
		return e.product(ctx, s, transA, alpha, a, b, transB, beta, out, false)
	}
	if out.Rows == 1 {
		return e.product(ctx, s, !transB, alpha, b, a, !transA, beta, out, true)
	}
	c := e.begin(ctx, s)
	defer c.end(&err)
	x, y, z := c.matrixView("A", a, transA), c.matrixView("B", b, transB), c.matrixView("C", out, false)
	m, n, depth := z.rows, z.cols, x.cols
	if m == 0 || n == 0 {
		return c.err
	}
	if alpha == 0 {
		depth = 0
	}
	if m <= thinMost && n <= thinMost && depth >= thinDepth {
		c.thin(out.Type, x, y, z, depth, alpha, beta)
		return c.err
	}
	tiles := groupsFor(m, tileSide) * groupsFor(n, tileSide)
	splits, split := c.splits(tiles, depth)
	var parts *memory.Buffer
	if splits > 1 {
		parts = c.temp(splits * m * n * int64(memory.Width(out.Type)))
	}
	args := append(x.args(), y.args()...)
	args = append(args, z.vector, z.row, scale(out.Type, alpha), scale(out.Type, beta), m, n, depth, split, boolArg(splits > 1), pointer(parts))
	c.launchGrid(matrixModule("gemm", out.Type), "gemm", device.Grid{Groups: [3]int64{tiles, splits}, Items: [3]int{group}}, args...)
	if splits > 1 {
		c.join(out.Type, parts, splits, z, alpha, beta)
	}
	return c.err
}

// thin is the product for a C of few elements: see gemm_thin.
func (c *call) thin(t arrow.DataType, x, y, z matrixView, depth int64, alpha, beta float64) {
	tiles := groupsFor(z.rows, thinSide) * groupsFor(z.cols, thinSide)
	splits, split := c.splits(tiles/4, depth)
	parts := c.temp(splits * z.rows * z.cols * int64(memory.Width(t)))
	args := append(x.args(), y.args()...)
	args = append(args, z.rows, z.cols, depth, split, parts)
	c.launchGrid(matrixModule("gemm", t), "gemm_thin", device.Grid{Groups: [3]int64{tiles, splits}, Items: [3]int{group}}, args...)
	c.join(t, parts, splits, z, alpha, beta)
}

// splits is in how many parts a depth is cut so that groups of work become
// enough for the device, and how long each part is.
func (c *call) splits(groups, depth int64) (splits, split int64) {
	want := 2 * int64(max(c.e.dev.Info().Units, 1))
	splits = min(max(want/max(groups, 1), 1), max(depth/splitDepth, 1), 1<<15)
	split = max(groupsFor(depth, splits*splitStep)*splitStep, 1)
	return max((depth+split-1)/split, 1), split
}

// join adds up the parts of a product and puts them into C.
func (c *call) join(t arrow.DataType, parts *memory.Buffer, splits int64, z matrixView, alpha, beta float64) {
	args := append([]any{parts, splits}, z.args()...)
	args = append(args, scale(t, alpha), scale(t, beta), z.rows, z.cols)
	c.launch(matrixModule("gemm", t), "gemm_join", c.strided(z.rows*z.cols), args...)
}
