package gemm

import (
	"context"
	"math"
	"math/rand/v2"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// product is a product that can be run again and again.
type product interface {
	run(ctx context.Context) error
	// bytes of the three matrices.
	bytes() int64
	// check holds sampled elements of the result against plain loops.
	check(ctx context.Context) (wrong bool, err error)
	close()
}

// squares is the product of two square matrices of order n.
type squares[T float32 | float64] struct {
	backend *kernels.Backend
	stream  device.Stream
	n       int64
	a, b    []T // on the host
	on      [3]kernels.Matrix
}

func newProduct[T float32 | float64](ctx context.Context, b *kernels.Backend, of arrow.DataType, n int64) (product, error) {
	p := &squares[T]{backend: b, n: n, a: numbers[T](1, n*n), b: numbers[T](2, n*n)}
	if err := p.upload(ctx, of); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// numbers are in [-1, 1).
func numbers[T float32 | float64](seed uint64, n int64) []T {
	r, v := rand.New(rand.NewPCG(42, seed)), make([]T, n)
	for i := range v {
		v[i] = T(2*r.Float64() - 1)
	}
	return v
}

// upload makes the matrices on the device; the result's holds what A does.
func (p *squares[T]) upload(ctx context.Context, of arrow.DataType) (err error) {
	if p.stream, err = p.backend.NewStream(); err != nil {
		return err
	}
	for i, v := range [][]T{p.a, p.b, p.a} {
		m := kernels.Matrix{Type: of, Rows: p.n, Cols: p.n, Stride: p.n}
		size := int64(len(v)) * int64(unsafe.Sizeof(T(0)))
		if m.Data, err = memory.New(p.backend.Device.Memory(), size); err != nil {
			return err
		}
		p.on[i] = m
		from := memory.Wrap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), size), nil)
		err = p.stream.Copy(m.Data, 0, from, 0, size)
		from.Release()
		if err != nil {
			return err
		}
	}
	return p.stream.Wait(ctx)
}

func (p *squares[T]) run(ctx context.Context) error {
	if err := p.backend.GEMM(ctx, p.stream, false, false, 1, p.on[0], p.on[1], 0, p.on[2]); err != nil {
		return err
	}
	return p.stream.Wait(ctx)
}

func (p *squares[T]) bytes() int64 { return 3 * p.n * p.n * int64(unsafe.Sizeof(T(0))) }

// samples is how many elements are looked at: each takes a product of a row and
// a column.
const samples = 256

func (p *squares[T]) check(ctx context.Context) (wrong bool, err error) {
	size := p.bytes() / 3
	got, err := memory.New(memory.Heap, size)
	if err != nil {
		return false, err
	}
	defer got.Release()
	if err := p.stream.Copy(got, 0, p.on[2].Data, 0, size); err != nil {
		return false, err
	}
	if err := p.stream.Wait(ctx); err != nil {
		return false, err
	}
	c := memory.View[T](got)
	r := rand.New(rand.NewPCG(42, 3))
	for s := range int64(samples) {
		i, j := r.Int64N(p.n), r.Int64N(p.n)
		switch s { // the corners, where a tile ends
		case 0:
			i, j = 0, 0
		case 1:
			i, j = p.n-1, p.n-1
		}
		if !p.near(float64(c[i*p.n+j]), i, j) {
			return true, nil
		}
	}
	return false, nil
}

// near reports whether x is element (i, j) within the bound of the contract.
func (p *squares[T]) near(x float64, i, j int64) bool {
	sum, whole := 0.0, 0.0
	for k := range p.n {
		y := float64(p.a[i*p.n+k]) * float64(p.b[k*p.n+j])
		sum, whole = sum+y, whole+math.Abs(y)
	}
	unit := 0x1p-52
	if unsafe.Sizeof(T(0)) == 4 {
		unit = 0x1p-23
	}
	// The loop above has an error of its own.
	return math.Abs(x-sum) <= (float64(p.n)+2)*(unit+0x1p-52)*whole
}

func (p *squares[T]) close() {
	if p.stream != nil {
		_ = p.stream.Close() // a failure was returned by the step that met it
	}
	for _, m := range p.on {
		m.Data.Release()
	}
}
