package cpu

import (
	"context"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// wideColumns is how many columns a transposed matrix takes for workers to
// share those, not the rows.
const wideColumns = 2048

func gemv(ctx context.Context, s device.Stream, transA bool, alpha float64, a, x kernels.Matrix, beta float64, y kernels.Matrix) error {
	if y.Type.ID() == arrow.FLOAT32 {
		return gemvOf[float32](ctx, s, transA, alpha, a, x, beta, y)
	}
	return gemvOf[float64](ctx, s, transA, alpha, a, x, beta, y)
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
	ctx   context.Context
	a     window[T] // as stored, not transposed
	x     []T
	y     vector[T]
	alpha T
}

func gemvOf[T float](ctx context.Context, s device.Stream, transA bool, alpha float64, a, x kernels.Matrix, beta float64, y kernels.Matrix) error {
	vx, err := vectorOf[T](x)
	if err != nil {
		return err
	}
	p := &affine[T]{ctx: ctx, a: windowOf[T](a, false), alpha: T(alpha)}
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
	alloc := s.Device().Memory()
	switch blocks := ceil(vx.n, depthBlock); {
	case transA && (p.y.n >= wideColumns || blocks < 8):
		return p.columns()
	case transA:
		return inBlocks(ctx, alloc, blocks, p.y.n, func(_, k int, sums []T) error {
			p.combine(sums, 0, k*depthBlock)
			return nil
		}, p.add)
	case p.y.n < splitTiles && blocks >= 64:
		return inBlocks(ctx, alloc, blocks, p.y.n, func(_, k int, sums []T) error {
			for i := range sums {
				sums[i] = p.dots(i, 1, k*depthBlock)[0]
			}
			return nil
		}, p.add)
	default:
		return p.rows()
	}
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

// add adds alpha times a block's sums to y.
func (p *affine[T]) add(sums []T) {
	for i, v := range sums {
		p.y.v[i*p.y.step] += T(p.alpha * v)
	}
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
			for c, v := range sums {
				p.y.v[(j+c)*p.y.step] += T(p.alpha * v)
			}
		}
		return nil
	})
}

// combine sums the rows of A of the block from k on, each times its x, over
// the columns from j on.
func (p *affine[T]) combine(sums []T, j, k int) {
	clear(sums)
	for i := k; i < min(k+depthBlock, len(p.x)); i++ {
		x, row := p.x[i], p.a.v[i*p.a.row+j:][:len(sums)]
		for c, v := range row {
			sums[c] += T(x * v)
		}
	}
}

// rows is y += alpha * A * x, rows shared by workers, four at a time.
func (p *affine[T]) rows() error {
	each := min(max(morsel/len(p.x), 1)*4, block)
	return tasks(p.ctx, ceil(p.y.n, each), func(_, t int) error {
		for i := t * each; i < min((t+1)*each, p.y.n); i += 4 {
			n := min(4, p.y.n-i)
			for k := 0; k < len(p.x); k += depthBlock {
				if k&(morsel-1) == 0 {
					if err := device.Canceled(p.ctx, "cpu", ""); err != nil {
						return err
					}
				}
				for r, v := range p.dots(i, n, k) {
					if r < n {
						p.y.v[(i+r)*p.y.step] += T(p.alpha * v)
					}
				}
			}
		}
		return nil
	})
}

// dots are the sums of products of n rows from i on, up to four, with x over
// the block from k on, each in rising k.
func (p *affine[T]) dots(i, n, k int) (sums [4]T) {
	x := p.x[k:min(k+depthBlock, len(p.x))]
	row := func(r int) []T { return p.a.v[(i+r)*p.a.row+k:][:len(x)] }
	if n < 4 {
		for r := range n {
			for d, v := range row(r) {
				sums[r] += T(x[d] * v)
			}
		}
		return sums
	}
	r0, r1, r2, r3 := row(0), row(1), row(2), row(3)
	var s0, s1, s2, s3 T
	for d, v := range x {
		s0 += T(v * r0[d])
		s1 += T(v * r1[d])
		s2 += T(v * r2[d])
		s3 += T(v * r3[d])
	}
	return [4]T{s0, s1, s2, s3}
}
