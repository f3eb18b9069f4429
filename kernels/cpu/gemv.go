package cpu

import (
	"context"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/fma"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// wideColumns is how many columns a transposed matrix takes for workers to
// share those, not the rows.
const wideColumns = 2048

func (l *loops) gemv(ctx context.Context, s device.Stream, transA bool, alpha float64, a, x kernels.Matrix, beta float64, y kernels.Matrix) error {
	if y.Type.ID() == arrow.FLOAT32 {
		return gemvOf(ctx, s, &l.matrix32, transA, alpha, a, x, beta, y)
	}
	return gemvOf(ctx, s, &l.matrix64, transA, alpha, a, x, beta, y)
}

// vector is a vector of a call of gemv: element i is v[i*step].
type vector[T float] struct {
	v       []T
	step, n int
}

func vectorOf[T float](m kernels.Matrix) (vector[T], error) {
	offset, step, n, err := m.Vector()
	if err != nil || n == 0 {
		return vector[T]{}, err
	}
	return vector[T]{memory.View[T](m.Data)[offset:], int(step), int(n)}, nil
}

// affine is one call of gemv, with x packed.
type affine[T float] struct {
	*matrixLoops[T]
	ctx   context.Context
	a     window[T] // as stored, not transposed
	x     []T
	y     vector[T]
	alpha T
}

func gemvOf[T float](ctx context.Context, s device.Stream, l *matrixLoops[T], transA bool, alpha float64, a, x kernels.Matrix, beta float64, y kernels.Matrix) error {
	vx, err := vectorOf[T](x)
	if err != nil {
		return err
	}
	p := &affine[T]{matrixLoops: l, ctx: ctx, a: windowOf[T](a, false), alpha: T(alpha)}
	if p.y, err = vectorOf[T](y); err != nil {
		return err
	}
	if p.y.n == 0 {
		return device.Canceled(ctx, "cpu", "")
	}
	var t T
	packed, err := memory.New(s.Device().Memory(), int64(vx.n)*int64(unsafe.Sizeof(t)))
	if err != nil {
		return err
	}
	defer packed.Release()
	p.x = memory.View[T](packed)
	if err := p.prepare(vx, T(beta)); err != nil || alpha == 0 || vx.n == 0 {
		return err
	}
	blocks := ceil(vx.n, depthBlock)
	switch {
	case transA && (p.y.n >= wideColumns || blocks < splitBlocks):
		return p.columns()
	case transA:
		return p.split(s.Device().Memory(), blocks, func(k int, sums []T) { p.combine(sums, 0, k*depthBlock) })
	case p.y.n <= p.vector && blocks >= 64:
		return p.split(s.Device().Memory(), blocks, func(k int, sums []T) { p.products(sums, 0, k*depthBlock) })
	default:
		return p.rows()
	}
}

// split has blocks of x share the work.
func (p *affine[T]) split(alloc memory.Allocator, blocks int, compute func(block int, sums []T)) error {
	var t T
	room, err := memory.New(alloc, int64(p.y.n)*int64(unsafe.Sizeof(t)))
	if err != nil {
		return err
	}
	defer room.Release()
	y := memory.View[T](room)
	for i := range y {
		y[i] = p.y.v[i*p.y.step]
	}
	err = inBlocks(p.ctx, p.matrixLoops, alloc, blocks, y, p.alpha, func(_, k int, sums []T) error {
		compute(k, sums)
		return nil
	})
	if err != nil {
		return err
	}
	for i, v := range y {
		p.y.v[i*p.y.step] = v
	}
	return nil
}

// prepare packs x and scales y.
func (p *affine[T]) prepare(x vector[T], beta T) error {
	err := parallel(p.ctx, int64(x.n), func(_ int, s span) error {
		for i := int(s.from); i < int(s.to); i++ {
			p.x[i] = x.v[i*x.step]
		}
		return nil
	})
	if err != nil || beta == 1 {
		return err
	}
	return parallel(p.ctx, int64(p.y.n), func(_ int, s span) error {
		for i := int(s.from); i < int(s.to); i++ {
			if at := &p.y.v[i*p.y.step]; beta == 0 {
				*at = 0
			} else {
				*at *= beta
			}
		}
		return nil
	})
}

// columns is y += alpha * A^T * x where there are many columns, or few rows.
func (p *affine[T]) columns() error {
	return tasks(p.ctx, ceil(p.y.n, block), func(_, i int) error {
		var room [block]T
		j := i * block
		sums := room[:min(block, p.y.n-j)]
		for k := 0; k < len(p.x); k += depthBlock {
			if err := device.Canceled(p.ctx, "cpu", ""); err != nil {
				return err
			}
			p.combine(sums, j, k)
			p.add(j, sums)
		}
		return nil
	})
}

// add adds alpha times sums to y from i on.
func (p *affine[T]) add(i int, sums []T) {
	for r, v := range sums {
		at := &p.y.v[(i+r)*p.y.step]
		*at = fma.Of(p.alpha, v, *at)
	}
}

// combine sums the rows of A of the block from k on, each times its x, over
// the columns from j on.
func (p *affine[T]) combine(sums []T, j, k int) {
	clear(sums)
	p.axpy(sums, p.a.v[k*p.a.row+j:], p.a.row, p.x[k:min(k+depthBlock, len(p.x))])
}

// rows is y += alpha * A * x, rows shared by workers, a vector at a time.
func (p *affine[T]) rows() error {
	each := min(max(morsel/len(p.x)/p.vector, 1)*p.vector, block)
	return tasks(p.ctx, ceil(p.y.n, each), func(_, t int) error {
		var room [maxTileCols]T
		for i := t * each; i < min((t+1)*each, p.y.n); i += p.vector {
			sums := room[:min(p.vector, p.y.n-i)]
			for k := 0; k < len(p.x); k += depthBlock {
				if k&(morsel-1) == 0 {
					if err := device.Canceled(p.ctx, "cpu", ""); err != nil {
						return err
					}
				}
				p.products(sums, i, k)
				p.add(i, sums)
			}
		}
		return nil
	})
}

// products are the sums of products of rows from i on, as many as sums, with x
// over the block from k on, each in rising k.
func (p *affine[T]) products(sums []T, i, k int) {
	var room [maxTileCols]T
	x := p.x[k:min(k+depthBlock, len(p.x))]
	p.dots(room[:p.vector], p.a.v[i*p.a.row+k:], p.a.row, len(sums), x)
	copy(sums, room[:])
}
