package gonum

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
)

// part is how many elements of a vector a goroutine takes at a time. It does not
// depend on how many there are, so that sums have the same bits on every machine.
const part = 1 << 16

// loops are the loops of the best tier, chosen once. A block of
// kernels.ReduceBlock elements goes through two of them while it lies in the
// first-level cache.
type loops[T float] struct {
	multiply, add func(dst, a, b []T)
	scale         func(dst, a []T, b T)
	blocks        sync.Pool // of *[kernels.ReduceBlock]T
}

func loopsOf[T float]() *loops[T] {
	return &loops[T]{
		multiply: cpu.Columns[T](kernels.Multiply), add: cpu.Columns[T](kernels.Add), scale: cpu.Scalars[T](kernels.Multiply),
		blocks: sync.Pool{New: func() any { return new([kernels.ReduceBlock]T) }},
	}
}

var (
	loops64   = sync.OnceValue(loopsOf[float64])
	loops32   = sync.OnceValue(loopsOf[float32])
	sumBlocks = sync.OnceValue(cpu.SumBlocks)
)

// Daxpy adds alpha times x to y. Products and sums are rounded, as gonum's are.
func (b *BLAS) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	if !b.unitary(n, len(x), incX) || !b.unitary(n, len(y), incY) || alpha == 0 {
		b.Implementation.Daxpy(n, alpha, x, incX, y, incY)
		return
	}
	eachPart(n, func(_, from, to int) { loops64().axpy(alpha, x[from:to], y[from:to]) })
}

// Saxpy adds alpha times x to y. Products and sums are rounded, as gonum's are.
func (b *BLAS) Saxpy(n int, alpha float32, x []float32, incX int, y []float32, incY int) {
	if !b.unitary(n, len(x), incX) || !b.unitary(n, len(y), incY) || alpha == 0 {
		b.Implementation.Saxpy(n, alpha, x, incX, y, incY)
		return
	}
	eachPart(n, func(_, from, to int) { loops32().axpy(alpha, x[from:to], y[from:to]) })
}

// Dscal multiplies x by alpha.
func (b *BLAS) Dscal(n int, alpha float64, x []float64, incX int) {
	if !b.unitary(n, len(x), incX) || alpha == 0 { // 0 times a NaN is 0 there
		b.Implementation.Dscal(n, alpha, x, incX)
		return
	}
	eachPart(n, func(_, from, to int) { loops64().scale(x[from:to], x[from:to], alpha) })
}

// Sscal multiplies x by alpha.
func (b *BLAS) Sscal(n int, alpha float32, x []float32, incX int) {
	if !b.unitary(n, len(x), incX) || alpha == 0 {
		b.Implementation.Sscal(n, alpha, x, incX)
		return
	}
	eachPart(n, func(_, from, to int) { loops32().scale(x[from:to], x[from:to], alpha) })
}

// Ddot adds up the products of x and y: those of a block in the shape of
// kernels.ReduceFunc, then the blocks of 65,536 elements, the first one first,
// then those sums.
func (b *BLAS) Ddot(n int, x []float64, incX int, y []float64, incY int) float64 {
	if !b.unitary(n, len(x), incX) || !b.unitary(n, len(y), incY) {
		return b.Implementation.Ddot(n, x, incX, y, incY)
	}
	if n <= part {
		return dot(x[:n], y[:n])
	}
	sums := make([]float64, (n+part-1)/part)
	eachPart(n, func(p, from, to int) { sums[p] = dot(x[from:to], y[from:to]) })
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return total
}

// dot adds up the products of one part.
func dot(x, y []float64) (total float64) {
	l, sum := loops64(), sumBlocks()
	room := l.blocks.Get().(*[kernels.ReduceBlock]float64)
	defer l.blocks.Put(room)
	for len(x) > 0 {
		products := room[:min(len(room), len(x))]
		l.multiply(products, x[:len(products)], y[:len(products)])
		clear(room[len(products):])
		sum(room[:1], room[:])
		total += room[0]
		x, y = x[len(products):], y[len(products):]
	}
	return total
}

// unitary reports whether a vector is one of ours: n elements that lie there,
// one after another, and are enough.
func (b *BLAS) unitary(n, have, inc int) bool {
	return inc == 1 && n > 0 && n >= b.vector && n <= have
}

// axpy adds alpha times x to y.
func (l *loops[T]) axpy(alpha T, x, y []T) {
	room := l.blocks.Get().(*[kernels.ReduceBlock]T)
	defer l.blocks.Put(room)
	for len(x) > 0 {
		products := room[:min(len(room), len(x))]
		l.scale(products, x[:len(products)], alpha)
		l.add(y[:len(products)], y[:len(products)], products)
		x, y = x[len(products):], y[len(products):]
	}
}

// eachPart calls do for each part of a vector, from as many goroutines as there
// are processors.
func eachPart(n int, do func(p, from, to int)) {
	parts := (n + part - 1) / part
	workers := min(parts, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for p := range parts {
			do(p, p*part, min(n, (p+1)*part))
		}
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for p := int(next.Add(1)) - 1; p < parts; p = int(next.Add(1)) - 1 {
				do(p, p*part, min(n, (p+1)*part))
			}
		})
	}
	all.Wait()
}
