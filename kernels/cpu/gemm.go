package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// depthBlock is how many products are added up at a time.
const depthBlock = kernels.GEMMBlock

func (l *loops) gemm(ctx context.Context, s device.Stream, transA, transB bool, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) error {
	switch {
	case c.Cols == 1:
		return l.gemv(ctx, s, transA, alpha, a, b, beta, c)
	case c.Rows == 1:
		return l.gemv(ctx, s, !transB, alpha, b, a, beta, c)
	case c.Type.ID() == arrow.FLOAT32:
		return newProduct(ctx, s, &l.matrix32, transA, transB, alpha, a, b, beta, c).run()
	default:
		return newProduct(ctx, s, &l.matrix64, transA, transB, alpha, a, b, beta, c).run()
	}
}

// window is op(m): element (i, j) is v[i*row+j*col].
type window[T float] struct {
	v          []T
	row, col   int
	rows, cols int
}

func windowOf[T float](m kernels.Matrix, trans bool) window[T] {
	w := window[T]{row: int(m.Stride), col: 1, rows: int(m.Rows), cols: int(m.Cols)}
	if m.Rows > 0 && m.Cols > 0 {
		w.v = memory.View[T](m.Data)[m.Offset:][:(w.rows-1)*w.row+w.cols]
	}
	if trans {
		w.row, w.col, w.rows, w.cols = w.col, w.row, w.cols, w.rows
	}
	return w
}

// product is one call of gemm.
type product[T float] struct {
	*matrixLoops[T]
	ctx            context.Context
	alloc          memory.Allocator
	a, b, c        window[T]
	transA, transB bool
	alpha, beta    T
	depth          int
}

func newProduct[T float](ctx context.Context, s device.Stream, l *matrixLoops[T], transA, transB bool, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) *product[T] {
	p := &product[T]{
		matrixLoops: l, ctx: ctx, alloc: s.Device().Memory(), transA: transA, transB: transB, alpha: T(alpha), beta: T(beta),
		a: windowOf[T](a, transA), b: windowOf[T](b, transB), c: windowOf[T](c, false),
	}
	if alpha != 0 {
		p.depth = p.a.cols
	}
	return p
}

func ceil(n, of int) int    { return (n + of - 1) / of }
func roundUp(n, to int) int { return ceil(n, to) * to }

// run picks the way that fits the shape. They differ in who computes what, not
// in the result.
func (p *product[T]) run() error {
	if p.c.rows == 0 || p.c.cols == 0 {
		return device.Canceled(p.ctx, "cpu", "")
	}
	if p.depth == 0 {
		return tasks(p.ctx, p.c.rows, func(_, i int) error {
			p.scale(i, 1, 0, p.c.cols)
			return nil
		})
	}
	g := p.grid()
	if blocks := ceil(p.depth, depthBlock); g.down*g.across < splitTiles && ceil(g.down, 2) < workers() && blocks >= splitBlocks {
		return p.split(blocks)
	}
	return p.whole()
}

// scale makes the part of C at rows [i, i+m), columns [j, j+n) beta times what
// it was.
func (p *product[T]) scale(i, m, j, n int) {
	for r := i; r < i+m; r++ {
		row := p.c.v[r*p.c.row+j:][:n]
		switch p.beta {
		case 0:
			clear(row)
		case 1:
		default:
			for k := range row {
				row[k] *= p.beta
			}
		}
	}
}
