package main

// #include "base.h"
import "C"

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/memory"
)

// views copies an array of string or binary views into a column with offsets: volley's kernels read bytes that stand one after the other. The last
// buffer lists the lengths of those that views point into, which every view is held against.
func (m importer) views(p *C.struct_ArrowArray, given arrow.DataType) (*memory.Column, error) {
	if p.n_buffers < 3 || p.n_buffers > 1<<24 || p.buffers == nil {
		return nil, mismatch("an array of views with %d buffers", int64(p.n_buffers))
	}
	at, rows := addresses(p), int64(p.offset)+int64(p.length)
	if p.length > 0 && at[1] < lowest {
		return nil, mismatch("the views are NULL, or at %#x", at[1])
	}
	buffers := make([]*arrowmem.Buffer, p.n_buffers-1)
	add := func(i int, size int64) {
		if size > 0 {
			buffers[i] = arrowmem.NewBufferBytes(unsafe.Slice((*byte)(pointer(at[i])), size))
		}
	}
	nulls := int(p.null_count)
	if at[0] >= lowest && nulls != 0 {
		add(0, memory.BitmapBytes(rows))
	}
	if p.length > 0 {
		add(1, 16*rows)
	}
	if sizes := at[p.n_buffers-1]; p.n_buffers > 3 {
		if sizes < lowest {
			return nil, mismatch("the lengths of the buffers of views are NULL")
		}
		for i, size := range unsafe.Slice((*int64)(pointer(sizes)), p.n_buffers-3) {
			if size < 0 || size > 0 && at[2+i] < lowest {
				return nil, mismatch("buffer %d of views has %d bytes", i, size)
			}
			add(2+i, size)
		}
	}
	offset := int(p.offset)
	if p.length == 0 {
		offset = 0 // of no rows, of which there may be no views
	}
	return memory.CopyViews(memory.Heap, array.NewData(given, int(p.length), buffers, nil, nulls, offset))
}
