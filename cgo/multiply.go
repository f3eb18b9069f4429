package main

// #include "base.h"
import "C"

import (
	"context"

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
