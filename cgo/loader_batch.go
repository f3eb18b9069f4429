package main

// #include "base.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

	device device.Device           // that the tensors are on, nil is the host
	queue  atomic.Pointer[uintptr] // that reads them there, nil where nobody has named one
}

// batchPart is a tensor of a batch.
type batchPart struct {
	part   C.int32_t
	column string
	mask   bool
}

// newBatch has one reference, the caller's.
func newBatch(b dataloader.Batch, on device.Device) *batchObject {
	o := &batchObject{b: b, device: on}
	o.refs.Store(1)
	return o
}

func (o *batchObject) hold() { o.refs.Add(1) }

func (o *batchObject) drop() {
	if o.refs.Add(-1) != 0 {
		return
	}
	if q := o.queue.Load(); q != nil && o.b.ReleaseAfterQueue(*q) == nil {
		return
	}
	_ = o.b.Release() // the only one: references are counted
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

// batchTensor is a part of a batch: the elements, their type, shape and strides. release gives b back, where it is not nil.
type batchTensor struct {
	b              *memory.Buffer
	typ            arrow.DataType
	shape, strides []int64
}

// tensor is a part of the batch, with a reference to its memory.
func (o *batchObject) tensor(p batchPart) (made batchTensor, err error) {
	var t dataloader.Tensor
	var there dataloader.DeviceTensor
	switch p.part {
	case C.VOLLEY_BATCH_ROWS:
		if p.mask {
			return made, mismatch("the numbers of the rows have no mask")
		}
		rows, err := o.b.Rows()
		if err != nil {
			return made, err
		}
		return numbersOf(rows), nil
	case C.VOLLEY_BATCH_OFFSETS:
		t, err := o.b.Column(p.column)
		if err == nil && (t.Offsets == nil || t.Columns > 0 || p.mask) {
			err = mismatch("column %q: ragged lists alone have offsets, and those no mask", p.column)
		}
		if err != nil {
			return made, err
		}
		return numbersOf(t.Offsets), nil
	case C.VOLLEY_BATCH_FEATURES:
		t, there, err = o.either(o.b.Features, o.b.FeaturesOnDevice)
	case C.VOLLEY_BATCH_LABELS:
		t, there, err = o.either(o.b.Labels, o.b.LabelsOnDevice)
	case C.VOLLEY_BATCH_COLUMN:
		t, there, err = o.either(func() (dataloader.Tensor, error) { return o.b.Column(p.column) }, func() (dataloader.DeviceTensor, error) { return o.b.ColumnOnDevice(p.column) })
	default:
		err = mismatch("a batch has no part %d", int32(p.part))
	}
	if err != nil {
		return made, err
	}
	bytes, at, size := t.Data, there.Offset, there.Size
	made.typ = t.Type
	if p.mask {
		if t.Valid == nil && (there.ValidSize == 0 && t.Rows > 0 || there.Buffer == nil) {
			return made, mismatch("the loader was not asked for masks")
		}
		bytes, at, size, made.typ = t.Valid, there.ValidOffset, there.ValidSize, arrow.PrimitiveTypes.Uint8
	}
	made.shape, made.strides = layoutOf(&t, p.part)
	if there.Buffer == nil {
		made.b = memory.Wrap(bytes, nil)
		return made, nil
	}
	made.b, err = there.Buffer.Slice(at, size)
	return made, err
}

// layoutOf is the shape and the strides of a tensor.
func layoutOf(t *dataloader.Tensor, part C.int32_t) (shape, strides []int64) {
	shape = t.Shape()
	switch {
	case len(shape) == 1: // ragged
		return shape, []int64{1}
	case t.Steps > 0:
		strides = []int64{t.RowStride, t.StepStride, t.ColumnStride}
	default:
		strides = []int64{t.RowStride, t.ColumnStride}
	}
	if last := len(shape) - 1; part == C.VOLLEY_BATCH_COLUMN && t.Columns == 1 && t.Offsets == nil { // a value for each row, or step
		return shape[:last], strides[:last]
	}
	return shape, strides
}

// either is a tensor in the host's memory, or where the loader has a device in that one's, once it is there.
func (o *batchObject) either(here func() (dataloader.Tensor, error), find func() (dataloader.DeviceTensor, error)) (t dataloader.Tensor, there dataloader.DeviceTensor, err error) {
	if o.device == nil {
		t, err = here()
		return t, there, err
	}
	if there, err = find(); err == nil {
		err = o.b.Wait(context.Background())
	}
	return there.Tensor, there, err
}

// numbersOf is a tensor of int64.
func numbersOf(all []int64) batchTensor {
	n := int64(len(all))
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(all))), 8*n)
	return batchTensor{memory.Wrap(bytes, nil), arrow.PrimitiveTypes.Int64, []int64{n}, []int64{1}}
}

// take marks a tensor as handed out.
func (o *batchObject) take(p batchPart) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.taken == nil {
		o.taken = make(map[batchPart]bool)
	}
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
			t, err := o.tensor(p)
			if err != nil {
				return err
			}
			if err := o.take(p); err != nil {
				t.b.Release()
				return err
			}
			made, err := o.exported(t, versioned)
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

// exported is a managed tensor with a reference to the batch of its own.
func (o *batchObject) exported(t batchTensor, versioned bool) (unsafe.Pointer, error) {
	o.hold()
	return newTensor(versioned, t.typ, t.b, 0, t.shape, t.strides, func() {
		t.b.Release()
		o.drop()
	})
}

//export go_volley_loader_next_tensors
func go_volley_loader_next_tensors(h C.uintptr_t, parts *C.volley_batch_part, n C.int64_t, t C.uintptr_t, out *C.int64_t, values *unsafe.Pointer) C.int32_t {
	const name = "volley_loader_next_tensors"
	var wanted []batchPart
	status := call(name, func() error {
		k, err := count("parts", parts, n)
		if err != nil {
			return err
		}
		if k == 0 {
			return mismatch("no parts: a batch is given back when its tensors are deleted")
		}
		clear(unsafe.Slice(values, k))
		wanted = make([]batchPart, k)
		for i, p := range unsafe.Slice(parts, k) {
			column, err := optional("column", p.column)
			if err != nil {
				return err
			}
			wanted[i] = batchPart{p.part, column, p.mask != 0}
		}
		return nil
	})
	if status != C.VOLLEY_OK {
		return status
	}
	return nextBy(name, h, t, func(o *batchObject) (outcome, error) {
		defer o.drop()
		made, err := o.all(wanted)
		return outcome{commit: func() {
			copy(unsafe.Slice(values, len(made)), made)
			*out = C.int64_t(len(made))
		}, discard: func() { deleteAll(made) }}, err
	})
}

// all is tensors of the batch, none after an error.
func (o *batchObject) all(parts []batchPart) (made []unsafe.Pointer, err error) {
	made = make([]unsafe.Pointer, 0, len(parts))
	for i, p := range parts {
		t, err := o.tensor(p)
		if err == nil && slices.Contains(parts[:i], p) {
			t.b.Release()
			err = mismatch("part %d is one of those before", i)
		}
		var one unsafe.Pointer
		if err == nil {
			one, err = o.exported(t, false)
		}
		if err != nil {
			deleteAll(made)
			return nil, err
		}
		made = append(made, one)
	}
	return made, nil
}

// deleteAll deletes managed tensors that nobody was given.
func deleteAll(all []unsafe.Pointer) {
	for _, p := range all {
		C.vly_call_deleter((*C.vly_dl_managed)(p).deleter, p)
	}
}

//export go_volley_batch_to_dlpack
func go_volley_batch_to_dlpack(h C.uintptr_t, part C.int32_t, column *C.char, mask C.int32_t, out *unsafe.Pointer) C.int32_t {
	return batchToTensor("volley_batch_to_dlpack", h, part, column, mask, false, out)
}

//export go_volley_batch_to_dlpack_versioned
func go_volley_batch_to_dlpack_versioned(h C.uintptr_t, part C.int32_t, column *C.char, mask C.int32_t, out *unsafe.Pointer) C.int32_t {
	return batchToTensor("volley_batch_to_dlpack_versioned", h, part, column, mask, true, out)
}

//export go_volley_batch_used_on
func go_volley_batch_used_on(h C.uintptr_t, queue C.uint64_t) C.int32_t {
	return call("volley_batch_used_on", func() error {
		return with("batch", h, func(o *batchObject) error {
			if o.device == nil {
				return mismatch("the loader has no device")
			}
			d, ok := o.device.(device.Foreign)
			if !ok {
				return device.Errorf(device.ErrUnsupported, o.device.Name(), "used_on", "the device has no queues of other libraries")
			}
			e, err := d.NewEvent() // a queue that is none is told now, and not when the memory comes back
			if err != nil {
				return err
			}
			at := uintptr(queue)
			if err := errors.Join(d.RecordOn(at, e), e.Close()); err != nil {
				return err
			}
			o.queue.Store(&at)
			return nil
		})
	})
}

//export go_volley_batch_free
func go_volley_batch_free(h C.uintptr_t) C.int32_t { return free[*batchObject]("volley_batch_free", h) }
