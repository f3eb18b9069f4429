package main

// #include "base.h"
import "C"

import (
	"unsafe"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// give is the outcome of a call that hands out one object.
func give(out *C.uintptr_t, o object) outcome {
	return outcome{commit: func() { *out = register(o) }, discard: o.drop}
}

// giveFailable is the outcome of a call that hands out one object unless it failed.
func giveFailable[T object](out *C.uintptr_t, o T, err error) (outcome, error) {
	if err != nil {
		return outcome{}, err
	}
	return give(out, o), nil
}

// options reads a structure that begins with its size: fields that the caller's version has not got are zero. One that is larger than this
// library's may only have zeros in what is not known here. What is read is in Go's heap: a structure's context may be any word, such as a number, and
// the runtime ends the process where it finds a small one in a pointer of a stack that it moves.
//
//go:noinline
func options[T any](name string, p *T) (*T, error) {
	o := new(T)
	if p == nil {
		return o, nil
	}
	own := uint64(unsafe.Sizeof(*o))
	size := *(*uint64)(unsafe.Pointer(p))
	if size < 8 || size > 1<<16 {
		return o, mismatch("%s has a size of %d: set it to sizeof", name, size)
	}
	from := unsafe.Slice((*byte)(unsafe.Pointer(p)), size)
	for i := own; i < size; i++ {
		if from[i] != 0 {
			return o, mismatch("%s has %d bytes, this library knows %d, and those after them are not 0", name, size, own)
		}
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(o)), own), from)
	return o, nil
}

// columnObject is a column, and the backend whose memory it is in: nil for the host's. at is where the work of a stream that makes it is done,
// nil where it is.
type columnObject struct {
	c  *memory.Column
	b  *kernels.Backend
	at *moment
}

func (o *columnObject) hold() {
	o.c.Retain()
	o.at.hold()
}

func (o *columnObject) drop() {
	o.c.Release()
	o.at.drop()
}

func (*columnObject) kind() string   { return "column" }
func (o *columnObject) onHost() bool { return o.c.Place().HostAccessible() }

// tableObject is a table.
type tableObject struct{ t *table.Table }

func (o *tableObject) hold()      { o.t.Retain() }
func (o *tableObject) drop()      { o.t.Release() }
func (*tableObject) kind() string { return "table" }
