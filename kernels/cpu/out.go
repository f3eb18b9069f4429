package cpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// out gathers the parts of a result column, so that whatever was allocated is
// given back when the kernel fails later on:
//
//	o := newOut(s, t, n)
//	err := o.nullsOf(a, b)
//	if err == nil {
//		err = o.values() // or o.bits(), o.buffer(i, bytes)
//	}
//	...
//	return o.column(err)
//
// The column has offset 0.
type out struct {
	alloc memory.Allocator
	parts memory.Parts
}

// newOut begins a column of n values of type t on the stream's device, without
// nulls until something says otherwise.
func newOut(s device.Stream, t arrow.DataType, n int64) *out {
	return &out{s.Device().Memory(), memory.Parts{Type: t, Len: n, Buffers: make([]*memory.Buffer, 3), Place: memory.Host}}
}

// newBits allocates a bitmap of n bits, undefined but for those after the last
// one, which are 0.
func newBits(a memory.Allocator, n int64) (*memory.Buffer, error) {
	b, err := memory.New(a, memory.BitmapBytes(n))
	if err == nil && n > 0 {
		b.Bytes()[b.Len()-1] = 0
	}
	return b, err
}

// buffer allocates buffer i of the column: n bytes, undefined.
func (o *out) buffer(i int, n int64) error {
	b, err := memory.New(o.alloc, n)
	o.parts.Buffers[i] = b
	return err
}

// values allocates the values of a fixed-width type.
func (o *out) values() error {
	return o.buffer(1, o.parts.Len*int64(memory.Width(o.parts.Type)))
}

// bits allocates the values of a bool column.
func (o *out) bits() error {
	b, err := newBits(o.alloc, o.parts.Len)
	o.parts.Buffers[1] = b
	return err
}

// nullsOf makes a row null where it is null in any of cols.
func (o *out) nullsOf(cols ...*memory.Column) error {
	b, nulls, err := combineValidity(o.alloc, o.parts.Len, cols...)
	o.parts.Buffers[0], o.parts.Nulls = b, nulls
	return err
}

// allNull makes every row null; values are cleared by the caller, if at all.
func (o *out) allNull() error {
	b, err := memory.NewZeroed(o.alloc, memory.BitmapBytes(o.parts.Len))
	o.parts.Buffers[0], o.parts.Nulls = b, o.parts.Len
	return err
}

// valid is the result's validity so far, nil where no row is null.
func (o *out) valid() memory.Bitmap {
	if o.parts.Buffers[0] == nil {
		return nil
	}
	return memory.Bitmap(o.parts.Buffers[0].Bytes())
}

// bitmap is buffer i as a bitmap.
func (o *out) bitmap(i int) memory.Bitmap { return memory.Bitmap(o.parts.Buffers[i].Bytes()) }

// view is buffer i of o as values of T.
func view[T any](o *out, i int) []T { return memory.View[T](o.parts.Buffers[i]) }

// column ends the work: the column, or with an error nothing, and all that was
// allocated is given back.
func (o *out) column(err error) (*memory.Column, error) {
	if err != nil {
		for _, b := range o.parts.Buffers {
			b.Release()
		}
		for _, c := range o.parts.Children {
			c.Release()
		}
		o.parts.Dictionary.Release()
		return nil, err
	}
	n := len(o.parts.Buffers)
	for n > 0 && o.parts.Buffers[n-1] == nil {
		n-- // layouts with fewer buffers than three
	}
	o.parts.Buffers = o.parts.Buffers[:n]
	return memory.NewColumn(o.parts)
}

// nullColumn is a column of n nulls of type t: zero values under them.
func nullColumn(s device.Stream, t arrow.DataType, n int64) (*memory.Column, error) {
	o := newOut(s, t, n)
	layout := memory.LayoutOf(t)
	if layout == memory.LayoutNull {
		return o.column(nil)
	}
	err := o.allNull()
	size := int64(0)
	switch layout {
	case memory.LayoutBits:
		size = memory.BitmapBytes(n)
	case memory.LayoutBinary:
		size = 4 * (n + 1)
	case memory.LayoutLargeBinary:
		size = 8 * (n + 1)
	default:
		size = n * int64(memory.Width(t))
	}
	if err == nil {
		o.parts.Buffers[1], err = memory.NewZeroed(o.alloc, size)
	}
	if d, ok := t.(*arrow.DictionaryType); ok && err == nil {
		o.parts.Dictionary, err = nullColumn(s, d.ValueType, 0)
	}
	return o.column(err)
}
