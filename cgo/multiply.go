package main

// #include "base.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// matrixTo is a matrix on a backend: the same where it is there already.
func matrixTo(ctx context.Context, o *matrixObject, b *kernels.Backend, q *queue) (*matrixObject, error) {
	if o.b == b || o.b == nil && b.Device.Place().HostAccessible() {
		o.hold()
		return o, nil
	}
	made := o.m
	from := o.m.Data.Retain()
	defer func() { from.Release() }()
	made.Data = nil
	at, err := transfer{o.b, b, q, o.at}.run(ctx, func(m *device.Mover) (err error) {
		made.Data, err = m.Buffer(from)
		return err
	}, func(m *device.Mover) error {
		near, err := m.Buffer(from)
		if err == nil {
			from.Release()
			from = near
		}
		return err
	})
	if err != nil {
		made.Data.Release()
		return nil, err
	}
	if made.Data.Place().HostAccessible() {
		b = nil
	}
	return &matrixObject{made, b, at}, nil
}

//export go_volley_matrix_to
func go_volley_matrix_to(h, d, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_matrix_to", t, func(k *keeper) (work, error) {
		o, err := kept[*matrixObject](k, "matrix", h)
		if err != nil {
			return nil, err
		}
		b, q, err := keptBackend(k, d)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := matrixTo(ctx, o, b, q)
			return giveFailable(out, made, err)
		}, nil
	})
}

//export go_volley_matrix_device
func go_volley_matrix_device(h C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return withMatrix("volley_matrix_device", h, func(o *matrixObject) error { return giveDevice(out, o.b) })
}

//export go_volley_matrix_multiply
func go_volley_matrix_multiply(d, x, y, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_matrix_multiply", t, func(k *keeper) (work, error) {
		a, err := kept[*matrixObject](k, "a", x)
		if err != nil {
			return nil, err
		}
		b, err := kept[*matrixObject](k, "b", y)
		if err != nil {
			return nil, err
		}
		dev, q, err := keptBackend(k, d)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := multiply(ctx, dev, q, a, b)
			return giveFailable(out, made, err)
		}, nil
	})
}

// multiply is the product of two matrices. That of matrices on the host is on the host, where it is waited for.
func multiply(ctx context.Context, dev *kernels.Backend, q *queue, a, b *matrixObject) (*matrixObject, error) {
	for _, o := range []*matrixObject{a, b} {
		if o.b != nil && o.b != dev {
			return nil, mismatch("a matrix on %s as an argument on %s: bring it there by volley_matrix_to", o.m.Data.Place(), dev.Device.Name())
		}
	}
	c := kernels.Matrix{Type: a.m.Type, Rows: a.m.Rows, Cols: b.m.Cols, Stride: max(b.m.Cols, 1)}
	size := c.Rows * c.Cols * int64(memory.Width(c.Type))
	var err error
	if a.b == nil && b.b == nil {
		if c.Data, err = memory.New(memory.Heap, size); err != nil {
			return nil, err
		}
		if err := product(ctx, dev, false, false, 1, a.m, b.m, 0, c); err != nil {
			c.Data.Release()
			return nil, err
		}
		return &matrixObject{m: c}, nil
	}
	if c.Data, err = memory.New(dev.Device.Memory(), size); err != nil {
		return nil, err
	}
	var there [2]*matrixObject
	defer func() {
		for _, o := range there {
			if o != nil {
				o.drop()
			}
		}
	}()
	for i, o := range []*matrixObject{a, b} {
		if there[i], err = matrixTo(ctx, o, dev, nil); err != nil {
			c.Data.Release()
			return nil, err
		}
	}
	at, err := onQueue(ctx, dev, q, func(s device.Stream) error {
		for _, o := range there {
			if err := o.at.before(s); err != nil {
				return err
			}
		}
		return dev.GEMM(ctx, s, false, false, 1, there[0].m, there[1].m, 0, c)
	})
	if err != nil {
		c.Data.Release()
		return nil, err
	}
	return &matrixObject{c, dev, at}, nil
}

// vectorOf is a column without nulls as a vector of BLAS.
func vectorOf(ctx context.Context, name string, o *columnObject, like arrow.DataType) (m kernels.Matrix, err error) {
	if o.c.Type().ID() != like.ID() {
		return m, mismatch("%s is of %s, the matrix of %s", name, nameOf(o.c.Type()), nameOf(like))
	}
	n, err := o.nulls(ctx)
	if err != nil {
		return m, err
	}
	if n > 0 {
		return m, mismatch("%s has %d nulls: fill them first", name, n)
	}
	return kernels.Matrix{Data: o.c.Buffer(1), Type: like, Offset: o.c.Offset(), Rows: o.c.Len(), Cols: 1, Stride: 1}, nil
}

//export go_volley_matrix_gemv
func go_volley_matrix_gemv(d C.uintptr_t, trans C.int32_t, alpha C.double, a, x C.uintptr_t, beta C.double, y, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_matrix_gemv", t, func(k *keeper) (work, error) {
		v := &gemv{trans: trans != 0, alpha: float64(alpha), beta: float64(beta)}
		var err error
		if v.a, err = kept[*matrixObject](k, "a", a); err != nil {
			return nil, err
		}
		if v.x, err = kept[*columnObject](k, "x", x); err != nil {
			return nil, err
		}
		if y != 0 {
			if v.y, err = kept[*columnObject](k, "y", y); err != nil {
				return nil, err
			}
		} else if beta != 0 {
			return nil, mismatch("beta is %g and y is NULL", v.beta)
		}
		if v.dev, v.q, err = keptBackend(k, d); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := v.run(ctx)
			return giveFailable(out, made, err)
		}, nil
	})
}

// gemv is alpha op(a) x + beta y. y is nil for beta 0.
type gemv struct {
	dev         *kernels.Backend
	q           *queue
	trans       bool
	alpha, beta float64
	a           *matrixObject
	x, y        *columnObject
}

// run gives the product as a column: on the device where an argument is, else on the host.
func (v *gemv) run(ctx context.Context) (*columnObject, error) {
	near := v.a.b == nil
	if err := onThis(v.dev, "a", v.a.b); err != nil {
		return nil, err
	}
	vectors := []*columnObject{v.x}
	if v.y != nil && v.beta != 0 {
		vectors = append(vectors, v.y)
	}
	for i, o := range vectors {
		near = near && o.b == nil
		if err := onThis(v.dev, [...]string{"x", "y"}[i], o.b); err != nil {
			return nil, err
		}
	}
	a, err := matrixTo(ctx, v.a, v.dev, nil)
	if err != nil {
		return nil, err
	}
	defer a.drop()
	var there []*columnObject
	defer func() { dropAll(there) }()
	for _, o := range vectors {
		c, err := columnTo(ctx, o, v.dev, nil)
		if err != nil {
			return nil, err
		}
		there = append(there, c)
	}
	q := v.q
	if near {
		q = nil
	}
	made, err := v.product(ctx, q, a, there)
	if err != nil || !near || made.b == nil {
		return made, err
	}
	defer made.drop()
	b, err := host()
	if err != nil {
		return nil, err
	}
	return columnTo(ctx, made, b, nil)
}

// product runs the kernel on arguments that are on the device: x and, where it counts, y.
func (v *gemv) product(ctx context.Context, q *queue, a *matrixObject, vectors []*columnObject) (*columnObject, error) {
	var given []kernels.Matrix
	for i, o := range vectors {
		m, err := vectorOf(ctx, [...]string{"x", "y"}[i], o, a.m.Type)
		if err != nil {
			return nil, err
		}
		given = append(given, m)
	}
	n, width := a.m.Rows, int64(memory.Width(a.m.Type))
	if v.trans {
		n = a.m.Cols
	}
	if len(given) > 1 && given[1].Rows != n {
		return nil, mismatch("y has %d elements, op(a) x has %d", given[1].Rows, n)
	}
	to, err := memory.New(v.dev.Device.Memory(), n*width)
	if err != nil {
		return nil, err
	}
	y := kernels.Matrix{Data: to, Type: a.m.Type, Rows: n, Cols: 1, Stride: 1}
	at, err := onQueue(ctx, v.dev, q, func(s device.Stream) error {
		if err := a.at.before(s); err != nil {
			return err
		}
		for _, o := range vectors {
			if err := o.at.before(s); err != nil {
				return err
			}
		}
		if len(given) > 1 {
			if err := s.Copy(to, 0, given[1].Data, given[1].Offset*width, n*width); err != nil {
				return err
			}
		}
		return v.dev.GEMV(ctx, s, v.trans, v.alpha, a.m, given[0], v.beta, y)
	})
	if err != nil {
		to.Release()
		return nil, err
	}
	c, err := memory.NewColumn(memory.Parts{Type: a.m.Type, Len: n, Buffers: []*memory.Buffer{nil, to}, Place: to.Place()})
	if err != nil {
		at.drop()
		return nil, err
	}
	return newColumn(c, v.dev, at), nil
}

// rawGEMV is the product of a matrix and a vector in C's memory.
func rawGEMV(name string, typ arrow.DataType, d C.uintptr_t, trans C.int32_t, m, n C.int64_t, alpha C.double, a unsafe.Pointer, lda C.int64_t,
	x unsafe.Pointer, incx C.int64_t, beta C.double, y unsafe.Pointer, incy C.int64_t, t C.uintptr_t) C.int32_t {
	return long(name, t, func(*keeper) (work, error) {
		ofX, ofY := n, m
		if trans != 0 {
			ofX, ofY = m, n
		}
		matrix, err := given("a", typ, a, m, n, lda)
		if err != nil {
			return nil, err
		}
		in, err := given("x", typ, x, ofX, 1, incx)
		if err != nil {
			return nil, err
		}
		to, err := given("y", typ, y, ofY, 1, incy)
		if err != nil {
			return nil, err
		}
		dev, err := backend(d)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			return outcome{}, inPlace(ctx, dev, []kernels.Matrix{matrix, in, to}, func(s device.Stream, all []kernels.Matrix) error {
				return dev.GEMV(ctx, s, trans != 0, float64(alpha), all[0], all[1], float64(beta), all[2])
			})
		}, nil
	})
}

//export go_volley_sgemv
func go_volley_sgemv(d C.uintptr_t, trans C.int32_t, m, n C.int64_t, alpha C.double, a *C.float, lda C.int64_t, x *C.float, incx C.int64_t, beta C.double,
	y *C.float, incy C.int64_t, t C.uintptr_t) C.int32_t {
	return rawGEMV("volley_sgemv", arrow.PrimitiveTypes.Float32, d, trans, m, n, alpha, unsafe.Pointer(a), lda, unsafe.Pointer(x), incx, beta, unsafe.Pointer(y), incy, t)
}

//export go_volley_dgemv
func go_volley_dgemv(d C.uintptr_t, trans C.int32_t, m, n C.int64_t, alpha C.double, a *C.double, lda C.int64_t, x *C.double, incx C.int64_t, beta C.double,
	y *C.double, incy C.int64_t, t C.uintptr_t) C.int32_t {
	return rawGEMV("volley_dgemv", arrow.PrimitiveTypes.Float64, d, trans, m, n, alpha, unsafe.Pointer(a), lda, unsafe.Pointer(x), incx, beta, unsafe.Pointer(y), incy, t)
}
