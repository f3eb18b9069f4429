package main

// #include "base.h"
import "C"

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/dataloader"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// batchObject is a lent batch. Its references are the handle, calls that use it, and the tensors that were handed out: the last one to go gives
// the memory back to the ring.
type batchObject struct {
	b     dataloader.Batch
	refs  atomic.Int64
	mu    sync.Mutex
	taken map[batchPart]bool
}

// batchPart is a tensor of a batch.
type batchPart struct {
	part   C.int32_t
	column string
	mask   bool
}

// newBatch has one reference, the caller's.
func newBatch(b dataloader.Batch) *batchObject {
	o := &batchObject{b: b, taken: make(map[batchPart]bool)}
	o.refs.Store(1)
	return o
}

func (o *batchObject) hold() { o.refs.Add(1) }

func (o *batchObject) drop() {
	if o.refs.Add(-1) == 0 {
		_ = o.b.Release() // the only one: references are counted
	}
}

func (*batchObject) kind() string { return "batch" }

//export go_volley_batch_describe
func go_volley_batch_describe(h C.uintptr_t, out *C.volley_batch_info) C.int32_t {
	return call("volley_batch_describe", func() error {
		return with("batch", h, func(o *batchObject) error {
			info, err := o.b.Info()
			if err != nil {
				return err
			}
			return fill("out", out, func(i *C.volley_batch_info) {
				i.epoch, i.step = C.int64_t(info.Epoch), C.int64_t(info.Step)
				i.rows, i.padded = C.int64_t(info.Rows), C.int64_t(info.Padded)
			})
		})
	})
}

// tensor is a part of the batch: the bytes of the elements, their type, shape and strides.
func (o *batchObject) tensor(p batchPart) (bytes []byte, typ arrow.DataType, shape, strides []int64, err error) {
	var t dataloader.Tensor
	switch p.part {
	case C.VOLLEY_BATCH_ROWS:
		if p.mask {
			return nil, nil, nil, nil, mismatch("the numbers of the rows have no mask")
		}
		rows, err := o.b.Rows()
		if err != nil {
			return nil, nil, nil, nil, err
		}
		return numbersOf(rows)
	case C.VOLLEY_BATCH_OFFSETS:
		t, err := o.b.Column(p.column)
		if err == nil && (t.Offsets == nil || t.Columns > 0 || p.mask) {
			err = mismatch("column %q: ragged lists alone have offsets, and those no mask", p.column)
		}
		if err != nil {
			return nil, nil, nil, nil, err
		}
		return numbersOf(t.Offsets)
	case C.VOLLEY_BATCH_FEATURES:
		t, err = o.b.Features()
	case C.VOLLEY_BATCH_LABELS:
		t, err = o.b.Labels()
	case C.VOLLEY_BATCH_COLUMN:
		t, err = o.b.Column(p.column)
	default:
		err = mismatch("a batch has no part %d", int32(p.part))
	}
	if err != nil {
		return nil, nil, nil, nil, err
	}
	bytes, typ = t.Data, t.Type
	if p.mask {
		if t.Valid == nil {
			return nil, nil, nil, nil, mismatch("the loader was not asked for masks")
		}
		bytes, typ = t.Valid, arrow.PrimitiveTypes.Uint8
	}
	shape = t.Shape()
	switch {
	case len(shape) == 1: // ragged
		return bytes, typ, shape, []int64{1}, nil
	case t.Steps > 0:
		strides = []int64{t.RowStride, t.StepStride, t.ColumnStride}
	default:
		strides = []int64{t.RowStride, t.ColumnStride}
	}
	if last := len(shape) - 1; p.part == C.VOLLEY_BATCH_COLUMN && t.Columns == 1 && t.Offsets == nil { // a value for each row, or step
		shape, strides = shape[:last], strides[:last]
	}
	return bytes, typ, shape, strides, nil
}

// numbersOf is a tensor of int64.
func numbersOf(all []int64) (bytes []byte, typ arrow.DataType, shape, strides []int64, err error) {
	n := int64(len(all))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(all))), 8*n), arrow.PrimitiveTypes.Int64, []int64{n}, []int64{1}, nil
}

// take marks a tensor as handed out.
func (o *batchObject) take(p batchPart) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.taken[p] {
		return fmt.Errorf("%w: this tensor of the batch was handed out before: who has it may write to it", device.ErrClosed)
	}
	o.taken[p] = true
	return nil
}

func batchToTensor(name string, h C.uintptr_t, part C.int32_t, column *C.char, mask C.int32_t, versioned bool, out *unsafe.Pointer) C.int32_t {
	return call(name, func() error {
		called, err := optional("column", column)
		if err != nil {
			return err
		}
		return with("batch", h, func(o *batchObject) error {
			p := batchPart{part, called, mask != 0}
			bytes, typ, shape, strides, err := o.tensor(p)
			if err != nil {
				return err
			}
			if err := o.take(p); err != nil {
				return err
			}
			o.hold()
			made, err := newTensor(versioned, typ, memory.Wrap(bytes, nil), 0, shape, strides, o.drop)
			if err != nil {
				return err
			}
			if versioned {
				(*C.vly_dl_versioned)(made).flags = 0 // not read only: the memory is the batch's alone
			}
			*out = made
			return nil
		})
	})
}

//export go_volley_batch_to_dlpack
func go_volley_batch_to_dlpack(h C.uintptr_t, part C.int32_t, column *C.char, mask C.int32_t, out *unsafe.Pointer) C.int32_t {
	return batchToTensor("volley_batch_to_dlpack", h, part, column, mask, false, out)
}

//export go_volley_batch_to_dlpack_versioned
func go_volley_batch_to_dlpack_versioned(h C.uintptr_t, part C.int32_t, column *C.char, mask C.int32_t, out *unsafe.Pointer) C.int32_t {
	return batchToTensor("volley_batch_to_dlpack_versioned", h, part, column, mask, true, out)
}

//export go_volley_batch_free
func go_volley_batch_free(h C.uintptr_t) C.int32_t { return free[*batchObject]("volley_batch_free", h) }
