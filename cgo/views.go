package main

// #include "base.h"
import "C"

import (
	"encoding/binary"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// views copies an array of string or binary views into a column with offsets: volley's kernels read bytes that stand one after the other. A view is
// 16 bytes: the length, then up to 12 bytes of text, or 4 of it, the number of a buffer and the place in it. The last buffer lists the lengths of
// those buffers, which every view is held against.
func (m importer) views(p *C.struct_ArrowArray, t arrow.DataType) (*memory.Column, error) {
	if p.n_buffers < 3 || p.n_buffers > 1<<24 || p.buffers == nil {
		return nil, mismatch("an array of views with %d buffers", int64(p.n_buffers))
	}
	given := addresses(p)
	n, offset := int64(p.length), int64(p.offset)
	if n > 0 && given[1] < lowest {
		return nil, mismatch("the views are NULL, or at %#x", given[1])
	}
	var validity memory.Bitmap
	if given[0] >= lowest && p.null_count != 0 {
		validity = unsafe.Slice((*byte)(pointer(given[0])), memory.BitmapBytes(offset+n))
	}
	data := make([][]byte, p.n_buffers-3)
	if sizes := given[p.n_buffers-1]; len(data) > 0 {
		if sizes < lowest {
			return nil, mismatch("the lengths of the buffers of views are NULL")
		}
		for i, size := range unsafe.Slice((*int64)(pointer(sizes)), len(data)) {
			if size < 0 || size > 0 && given[2+i] < lowest {
				return nil, mismatch("buffer %d of views has %d bytes", i, size)
			}
			if size > 0 {
				data[i] = unsafe.Slice((*byte)(pointer(given[2+i])), size)
			}
		}
	}
	var views []byte
	if n > 0 {
		views = unsafe.Slice((*byte)(pointer(given[1])), 16*(offset+n))[16*offset:]
	}
	return copyViews(views, n, validity, offset, data, t)
}

func copyViews(views []byte, n int64, validity memory.Bitmap, offset int64, data [][]byte, t arrow.DataType) (_ *memory.Column, err error) {
	value := func(i int64) ([]byte, error) {
		if validity != nil && !validity.Get(offset+i) {
			return nil, nil
		}
		v := views[16*i : 16*i+16]
		size := int64(int32(binary.NativeEndian.Uint32(v)))
		if size >= 0 && size <= 12 {
			return v[4 : 4+size], nil
		}
		buffer, at := int64(int32(binary.NativeEndian.Uint32(v[8:]))), int64(int32(binary.NativeEndian.Uint32(v[12:])))
		if size < 0 || buffer < 0 || buffer >= int64(len(data)) || at < 0 || at > int64(len(data[buffer]))-size {
			return nil, mismatch("row %d is a view of %d bytes at %d of buffer %d, which is not there", i, size, at, buffer)
		}
		return data[buffer][at : at+size], nil
	}
	parts := memory.Parts{Type: t, Len: n, Nulls: memory.UnknownNulls, Buffers: make([]*memory.Buffer, 3), Place: memory.Host}
	defer func() {
		if err != nil {
			for _, b := range parts.Buffers {
				b.Release()
			}
		}
	}()
	if parts.Buffers[1], err = memory.New(memory.Heap, 8*(n+1)); err != nil {
		return nil, err
	}
	offsets := memory.View[int64](parts.Buffers[1])
	offsets[0] = 0
	for i := range n {
		v, err := value(i)
		if err != nil {
			return nil, err
		}
		offsets[i+1] = offsets[i] + int64(len(v))
	}
	if parts.Buffers[2], err = memory.New(memory.Heap, offsets[n]); err != nil {
		return nil, err
	}
	for i := range n {
		v, _ := value(i) // checked by the loop before
		copy(parts.Buffers[2].Bytes()[offsets[i]:], v)
	}
	if validity != nil {
		if parts.Buffers[0], err = memory.NewZeroed(memory.Heap, memory.BitmapBytes(n)); err != nil {
			return nil, err
		}
		memory.Bitmap(parts.Buffers[0].Bytes()).CopyFrom(0, validity, offset, n)
	}
	c, err := memory.NewColumn(parts)
	parts.Buffers = nil
	return c, err
}
