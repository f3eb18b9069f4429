package kernels

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// ApplyFunc computes a user's function of each row: of columns of one length and
// scalars, at least one a column. The result is null where an argument is.
type ApplyFunc func(ctx context.Context, s device.Stream, f *Function, args []Datum) (*memory.Column, error)

// Apply computes a user's function of each row of args: columns of one length,
// or Scalars, but not all of them, of the types that it was registered with
// (ErrMismatch). The result is null where an argument is. A panic of the Go
// function is an ErrValue; a text for GPUs that does not compile, or that is not
// there, an ErrUnsupported with what the compiler said.
func (b *Backend) Apply(ctx context.Context, s device.Stream, f *Function, args []Datum) (out *memory.Column, err error) {
	const call = "apply"
	defer b.guard(call, &err)
	if f == nil {
		return nil, b.fail(device.ErrMismatch, call, "no function given")
	}
	if len(args) != len(f.Args()) {
		return nil, b.fail(device.ErrMismatch, call, "%s takes %d arguments, not %d", f.Name(), len(f.Args()), len(args))
	}
	cols, err := b.operands(call, nil, args...)
	if err != nil {
		return nil, err
	}
	for i, t := range f.Args() {
		if !arrow.TypeEqual(args[i].Type(), t) {
			return nil, b.fail(device.ErrMismatch, call, "argument %d of %s is %s, not %s", i, f.Name(), t, args[i].Type())
		}
	}
	e := b.Set.Apply
	if err := b.admit(ctx, s, call, e.Func != nil, e.Types, cols...); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, f, args)
}

// Bytes is the values of a host column of a fixed width, or rows times that of a
// Scalar, as bytes: what Function.Run takes.
func Bytes(d Datum, from, rows int64) []byte {
	width := int64(memory.Width(d.Type()))
	if c, ok := d.(*memory.Column); ok {
		if rows == 0 {
			return nil
		}
		return c.Buffer(1).Bytes()[(c.Offset()+from)*width : (c.Offset()+from+rows)*width]
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], d.(Scalar).bits)
	return bytes.Repeat(word[:width], int(rows))
}
