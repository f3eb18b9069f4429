package cpu

import (
	"context"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// The parts of a product, after Van Zee and van de Geijn, "BLIS: a framework
// for rapidly instantiating BLAS functionality" (2015): a tile of C is one
// task; its share of A and B is packed a block of k at a time, to lie in the
// second-level cache, and multiplied in pieces that fit the registers.
const (
	tile       = 128
	pieceRows  = 2
	pieceCols  = 4
	depthBlock = kernels.GEMMBlock
)

// splitTiles is how few tiles C must have for a long k to be cut instead.
const splitTiles = 8

type float interface{ float32 | float64 }

func gemm(ctx context.Context, s device.Stream, transA, transB bool, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) error {
	if c.Type.ID() == arrow.FLOAT32 {
		return gemmOf[float32](ctx, s, transA, transB, alpha, a, b, beta, c)
	}
	return gemmOf[float64](ctx, s, transA, transB, alpha, a, b, beta, c)
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
		w.v = memory.View[T](m.Data)[m.Offset:]
	}
	if trans {
		w.row, w.col, w.rows, w.cols = w.col, w.row, w.cols, w.rows
	}
	return w
}

// product is one call of gemm.
type product[T float] struct {
	ctx         context.Context
	a, b, c     window[T]
	alpha, beta T
	depth       int
	rooms       *rooms
}

func gemmOf[T float](ctx context.Context, s device.Stream, transA, transB bool, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) error {
	p := &product[T]{ctx: ctx, a: windowOf[T](a, transA), b: windowOf[T](b, transB), c: windowOf[T](c, false), alpha: T(alpha), beta: T(beta)}
	if p.c.rows == 0 || p.c.cols == 0 {
		return nil
	}
	if p.depth = p.a.cols; alpha == 0 {
		p.depth = 0
	}
	var t T
	packed := (roundUp(min(p.c.rows, tile), pieceRows) + roundUp(min(p.c.cols, tile), pieceCols)) * min(p.depth, depthBlock)
	p.rooms = newRooms(s.Device().Memory(), int64(packed)*int64(unsafe.Sizeof(t)))
	defer p.rooms.release()
	down, across := ceil(p.c.rows, tile), ceil(p.c.cols, tile)
	if down*across < splitTiles && p.depth >= 8*depthBlock {
		return p.split(s.Device().Memory())
	}
	return tasks(ctx, down*across, func(worker, i int) error {
		return p.tile(worker, i/across*tile, i%across*tile)
	})
}

func ceil(n, of int) int    { return (n + of - 1) / of }
func roundUp(n, to int) int { return ceil(n, to) * to }

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

// tile computes the tile of C from row i and column j on.
func (p *product[T]) tile(worker, i, j int) error {
	m, n := min(tile, p.c.rows-i), min(tile, p.c.cols-j)
	p.scale(i, m, j, n)
	for k := 0; k < p.depth; k += depthBlock {
		if err := device.Canceled(p.ctx, "cpu", ""); err != nil {
			return err
		}
		err := p.block(worker, i, m, j, n, k, func(r, c, rows, cols int, sum *[pieceRows][pieceCols]T) {
			for x := range rows {
				row := p.c.v[(i+r+x)*p.c.row+j+c:][:cols]
				for y := range row {
					row[y] += T(p.alpha * sum[x][y])
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// split computes a small C of a long k: blocks of k in parallel, their sums
// added to C in order.
func (p *product[T]) split(alloc memory.Allocator) error {
	rows, cols := p.c.rows, p.c.cols
	p.scale(0, rows, 0, cols)
	return inBlocks(p.ctx, alloc, ceil(p.depth, depthBlock), rows*cols, func(worker, k int, sums []T) error {
		for i := 0; i < rows; i += tile {
			for j := 0; j < cols; j += tile {
				m, n := min(tile, rows-i), min(tile, cols-j)
				err := p.block(worker, i, m, j, n, k*depthBlock, func(r, c, height, width int, sum *[pieceRows][pieceCols]T) {
					for x := range height {
						copy(sums[(i+r+x)*cols+j+c:], sum[x][:width])
					}
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	}, func(sums []T) {
		for i := range rows {
			row := p.c.v[i*p.c.row:][:cols]
			for j := range row {
				row[j] += T(p.alpha * sums[i*cols+j])
			}
		}
	})
}

// block multiplies op(A) rows [i, i+m) by op(B) columns [j, j+n) over the
// block of k from k on, and gives the sums to add piece by piece, with the
// place of each within the tile and how much of it there is.
func (p *product[T]) block(worker, i, m, j, n, k int, add func(r, c, rows, cols int, sum *[pieceRows][pieceCols]T)) error {
	room, err := p.rooms.get(worker)
	if err != nil {
		return err
	}
	depth := min(depthBlock, p.depth-k)
	sizeB, sizeA := roundUp(n, pieceCols)*depth, roundUp(m, pieceRows)*depth
	packed := memory.View[T](room)
	pack(packed[:sizeB], pieceCols, p.b.v, p.b.col, p.b.row, j, n, k, depth)
	pack(packed[sizeB:sizeB+sizeA], pieceRows, p.a.v, p.a.row, p.a.col, i, m, k, depth)
	groupsB := memory.View[[pieceCols]T](room)[:sizeB/pieceCols]
	groupsA := memory.View[[pieceRows]T](room)[sizeB/pieceRows:][:sizeA/pieceRows]
	var sum [pieceRows][pieceCols]T
	for c := 0; c < n; c += pieceCols {
		for r := 0; r < m; r += pieceRows {
			multiply(groupsA[r/pieceRows*depth:][:depth], groupsB[c/pieceCols*depth:][:depth], &sum)
			add(r, c, min(pieceRows, m-r), min(pieceCols, n-c), &sum)
		}
	}
	return nil
}

// pack lays lines [i, i+m) of a matrix side by side in groups of width: for
// each step of k the group's elements lie together. Lines that are not there
// are 0. Element (line, k) is v[line*line1+k*k1].
func pack[T float](to []T, width int, v []T, line1, k1, i, m, k, depth int) {
	for g := 0; g < m; g += width {
		group := to[g*depth:][:width*depth]
		for x := range width {
			if g+x >= m {
				for d := range depth {
					group[d*width+x] = 0
				}
				continue
			}
			from := v[(i+g+x)*line1+k*k1:]
			for d := range depth {
				group[d*width+x] = from[d*k1]
			}
		}
	}
}

// multiply sums the products of a group of rows of A and one of columns of B
// in rising k. The conversions keep products from being fused with additions.
func multiply[T float](a [][pieceRows]T, b [][pieceCols]T, sum *[pieceRows][pieceCols]T) {
	var s00, s01, s02, s03, s10, s11, s12, s13 T
	b = b[:len(a)]
	for k := range a {
		x, y := &a[k], &b[k]
		s00 += T(x[0] * y[0])
		s10 += T(x[1] * y[0])
		s01 += T(x[0] * y[1])
		s11 += T(x[1] * y[1])
		s02 += T(x[0] * y[2])
		s12 += T(x[1] * y[2])
		s03 += T(x[0] * y[3])
		s13 += T(x[1] * y[3])
	}
	sum[0] = [pieceCols]T{s00, s01, s02, s03}
	sum[1] = [pieceCols]T{s10, s11, s12, s13}
}
