package main

// #include "base.h"
import "C"

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

//export go_volley_matrix_transpose
func go_volley_matrix_transpose(d, h, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_matrix_transpose", t, func(k *keeper) (work, error) {
		o, err := kept[*matrixObject](k, "matrix", h)
		if err != nil {
			return nil, err
		}
		dev, q, err := keptBackend(k, d)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := transpose(ctx, dev, q, o)
			return giveFailable(out, made, err)
		}, nil
	})
}

// transpose is the transpose of a matrix in memory of its own. That of a matrix on the host is on the host.
func transpose(ctx context.Context, dev *kernels.Backend, q *queue, o *matrixObject) (*matrixObject, error) {
	if err := onThis(dev, "matrix", o.b); err != nil {
		return nil, err
	}
	if o.b == nil {
		q = nil
	}
	from, err := matrixTo(ctx, o, dev, nil)
	if err != nil {
		return nil, err
	}
	defer from.drop()
	made := kernels.Matrix{Type: o.m.Type, Rows: o.m.Cols, Cols: o.m.Rows, Stride: max(o.m.Rows, 1)}
	if made.Data, err = memory.New(dev.Device.Memory(), made.Rows*made.Cols*int64(memory.Width(made.Type))); err != nil {
		return nil, err
	}
	at, err := onQueue(ctx, dev, q, func(s device.Stream) error {
		if err := from.at.before(s); err != nil {
			return err
		}
		return dev.Transpose(ctx, s, from.m, made)
	})
	if err != nil {
		made.Data.Release()
		return nil, err
	}
	return nearAgain(ctx, &matrixObject{made, dev, at}, o.b == nil)
}

// onThis is an error where an argument is on another device than the one that works.
func onThis(dev *kernels.Backend, name string, b *kernels.Backend) error {
	if b != nil && b != dev {
		return mismatch("%s is on %s and the device is %s: bring it there first", name, b.Device.Name(), dev.Device.Name())
	}
	return nil
}

// nearAgain is a result on the host, where its arguments were on the host.
func nearAgain(ctx context.Context, o *matrixObject, wanted bool) (*matrixObject, error) {
	if o.m.Data.Place().HostAccessible() {
		o.b = nil
	}
	if !wanted || o.b == nil {
		return o, nil
	}
	defer o.drop()
	b, err := host()
	if err != nil {
		return nil, err
	}
	return matrixTo(ctx, o, b, nil)
}
