package main

// #include "base.h"
import "C"

import (
	"context"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// matrixObject is a matrix, and the backend whose memory it is in: nil for the host's. at is where the work of a stream that makes it is done.
type matrixObject struct {
	m  kernels.Matrix
	b  *kernels.Backend
	at *moment
}

func (o *matrixObject) hold() {
	o.m.Data.Retain()
	o.at.hold()
}

func (o *matrixObject) drop() {
	o.m.Data.Release()
	o.at.drop()
}

func (*matrixObject) kind() string { return "matrix" }

func matrixFromTensor(name string, p unsafe.Pointer, versioned bool, out *C.uintptr_t) C.int32_t {
	return call(name, func() error {
		t, err := importTensor(p, versioned, 2)
		if err != nil {
			return err
		}
		defer t.from.drop()
		m, err := t.matrix()
		if err != nil {
			return err
		}
		b, err := home(m.Data.Place())
		if err != nil {
			m.Data.Release()
			return err
		}
		*out = register(&matrixObject{m: m, b: b})
		return nil
	})
}

// matrix is a two-dimensional tensor as a matrix: a copy where the values of a row do not stand side by side.
func (t *tensor) matrix() (m kernels.Matrix, err error) {
	if t.typ == nil || t.typ.ID() != arrow.FLOAT32 && t.typ.ID() != arrow.FLOAT64 {
		return m, device.Errorf(device.ErrUnsupported, "", "dlpack", "a matrix of another type than float32 and float64")
	}
	rows, cols, width := t.shape[0], t.shape[1], int64(memory.Width(t.typ))
	m = kernels.Matrix{Type: t.typ, Rows: rows, Cols: cols, Stride: max(cols, 1)}
	rowMajor := (t.strides[1] == 1 || cols <= 1) && (t.strides[0] >= cols || rows <= 1)
	if !t.place.HostAccessible() {
		if !rowMajor {
			return m, device.Errorf(device.ErrUnsupported, t.place.String(), "dlpack", "a matrix that is not row-major: make it contiguous")
		}
		if rows > 1 {
			m.Stride = t.strides[0]
		}
		m.Data, m.Offset, err = t.memory(extent(m))
		return m, err
	}
	if rowMajor && rows*cols > 0 {
		if rows > 1 {
			m.Stride = t.strides[0]
		}
		m.Data, err = t.from.buffer(uintptr(t.data), extent(m)*width, int(width))
		return m, err
	}
	if m.Data, err = memory.New(memory.Heap, rows*cols*width); err != nil {
		return m, err
	}
	for i := range rows {
		row := m.Data.Bytes()[i*cols*width : (i+1)*cols*width]
		gather(row, unsafe.Add(t.data, i*t.strides[0]*width), cols, t.strides[1]*width, width)
	}
	return m, nil
}

// extent is how many elements a matrix spans, from its first to its last.
func extent(m kernels.Matrix) int64 {
	if m.Rows == 0 || m.Cols == 0 {
		return 0
	}
	return (m.Rows-1)*m.Stride + m.Cols
}

//export go_volley_matrix_from_dlpack
func go_volley_matrix_from_dlpack(p unsafe.Pointer, out *C.uintptr_t) C.int32_t {
	return matrixFromTensor("volley_matrix_from_dlpack", p, false, out)
}

//export go_volley_matrix_from_dlpack_versioned
func go_volley_matrix_from_dlpack_versioned(p unsafe.Pointer, out *C.uintptr_t) C.int32_t {
	return matrixFromTensor("volley_matrix_from_dlpack_versioned", p, true, out)
}

func matrixToTensor(name string, h C.uintptr_t, versioned bool, out *unsafe.Pointer) C.int32_t {
	return withMatrix(name, h, func(o *matrixObject) error {
		if err := o.at.wait(context.Background()); err != nil {
			return err
		}
		m := o.m
		p, err := newTensor(versioned, m.Type, m.Data, m.Offset, []int64{m.Rows, m.Cols}, []int64{m.Stride, 1}, m.Data.Retain().Release)
		*out = p
		return err
	})
}

//export go_volley_matrix_to_dlpack
func go_volley_matrix_to_dlpack(h C.uintptr_t, out *unsafe.Pointer) C.int32_t {
	return matrixToTensor("volley_matrix_to_dlpack", h, false, out)
}

//export go_volley_matrix_to_dlpack_versioned
func go_volley_matrix_to_dlpack_versioned(h C.uintptr_t, out *unsafe.Pointer) C.int32_t {
	return matrixToTensor("volley_matrix_to_dlpack_versioned", h, true, out)
}

func withMatrix(name string, h C.uintptr_t, body func(o *matrixObject) error) C.int32_t {
	return call(name, func() error { return with("matrix", h, body) })
}

//export go_volley_matrix_shape
func go_volley_matrix_shape(h C.uintptr_t, rows, cols *C.int64_t) C.int32_t {
	return withMatrix("volley_matrix_shape", h, func(o *matrixObject) error {
		*rows, *cols = C.int64_t(o.m.Rows), C.int64_t(o.m.Cols)
		return nil
	})
}

//export go_volley_matrix_type
func go_volley_matrix_type(h C.uintptr_t, out **C.char) C.int32_t {
	return withMatrix("volley_matrix_type", h, func(o *matrixObject) error { return giveText(out, nameOf(o.m.Type)) })
}

//export go_volley_matrix_free
func go_volley_matrix_free(h C.uintptr_t) C.int32_t {
	return free[*matrixObject]("volley_matrix_free", h)
}

// product is alpha op(a) op(b) + beta c, in place, of matrices in host memory, on any device.
func product(ctx context.Context, k *kernels.Backend, transA, transB bool, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) error {
	return inPlace(ctx, k, []kernels.Matrix{a, b, c}, func(s device.Stream, all []kernels.Matrix) error {
		return k.GEMM(ctx, s, transA, transB, alpha, all[0], all[1], beta, all[2])
	})
}

// inPlace runs a kernel that changes the last of some matrices in host memory, on any device.
func inPlace(ctx context.Context, k *kernels.Backend, given []kernels.Matrix, run func(s device.Stream, all []kernels.Matrix) error) error {
	return onStream(ctx, k, func(s device.Stream) error {
		if k.Device.Place().HostAccessible() {
			return run(s, given)
		}
		there := slices.Clone(given)
		for i := range there {
			d, err := memory.New(k.Device.Memory(), there[i].Data.Len())
			if err != nil {
				return err
			}
			defer d.Release()
			if err := s.Copy(d, 0, there[i].Data, 0, d.Len()); err != nil {
				return err
			}
			there[i].Data = d
		}
		if err := run(s, there); err != nil {
			return err
		}
		last := len(given) - 1
		if err := s.Copy(given[last].Data, 0, there[last].Data, 0, given[last].Data.Len()); err != nil {
			return err
		}
		return s.Wait(ctx)
	})
}

// given is a matrix in C's memory, rows × cols with ld elements from row to row.
func given(name string, t arrow.DataType, p unsafe.Pointer, rows, cols, ld C.int64_t) (kernels.Matrix, error) {
	m := kernels.Matrix{Type: t, Rows: int64(rows), Cols: int64(cols), Stride: int64(ld)}
	if rows < 0 || cols < 0 || ld < max(cols, 1) || rows > 0 && ld > (1<<44)/rows {
		return m, mismatch("%s is %d × %d with %d elements from row to row", name, m.Rows, m.Cols, m.Stride)
	}
	n := extent(m) * int64(memory.Width(t))
	if n > 0 && p == nil {
		return m, mismatch("%s is NULL", name)
	}
	m.Data = memory.Wrap(unsafe.Slice((*byte)(p), n), nil)
	return m, nil
}

// gemm is the product of matrices in C's memory.
func gemm(name string, typ arrow.DataType, d C.uintptr_t, transA, transB C.int32_t, m, n, k C.int64_t, alpha C.double, a unsafe.Pointer, lda C.int64_t,
	b unsafe.Pointer, ldb C.int64_t, beta C.double, c unsafe.Pointer, ldc C.int64_t, t C.uintptr_t) C.int32_t {
	return long(name, t, func(*keeper) (work, error) {
		aRows, aCols, bRows, bCols := m, k, k, n
		if transA != 0 {
			aRows, aCols = k, m
		}
		if transB != 0 {
			bRows, bCols = n, k
		}
		x, err := given("a", typ, a, aRows, aCols, lda)
		if err != nil {
			return nil, err
		}
		y, err := given("b", typ, b, bRows, bCols, ldb)
		if err != nil {
			return nil, err
		}
		z, err := given("c", typ, c, m, n, ldc)
		if err != nil {
			return nil, err
		}
		dev, err := backend(d)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			return outcome{}, product(ctx, dev, transA != 0, transB != 0, float64(alpha), x, y, float64(beta), z)
		}, nil
	})
}

//export go_volley_sgemm
func go_volley_sgemm(d C.uintptr_t, transA, transB C.int32_t, m, n, k C.int64_t, alpha C.double, a *C.float, lda C.int64_t, b *C.float, ldb C.int64_t,
	beta C.double, c *C.float, ldc C.int64_t, t C.uintptr_t) C.int32_t {
	return gemm("volley_sgemm", arrow.PrimitiveTypes.Float32, d, transA, transB, m, n, k, alpha, unsafe.Pointer(a), lda, unsafe.Pointer(b), ldb, beta,
		unsafe.Pointer(c), ldc, t)
}

//export go_volley_dgemm
func go_volley_dgemm(d C.uintptr_t, transA, transB C.int32_t, m, n, k C.int64_t, alpha C.double, a *C.double, lda C.int64_t, b *C.double, ldb C.int64_t,
	beta C.double, c *C.double, ldc C.int64_t, t C.uintptr_t) C.int32_t {
	return gemm("volley_dgemm", arrow.PrimitiveTypes.Float64, d, transA, transB, m, n, k, alpha, unsafe.Pointer(a), lda, unsafe.Pointer(b), ldb, beta,
		unsafe.Pointer(c), ldc, t)
}
