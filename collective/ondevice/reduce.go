package ondevice

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

var arrowTypes = map[collective.Type]arrow.DataType{
	collective.Int8: arrow.PrimitiveTypes.Int8, collective.Int16: arrow.PrimitiveTypes.Int16, collective.Int32: arrow.PrimitiveTypes.Int32,
	collective.Int64: arrow.PrimitiveTypes.Int64, collective.Uint8: arrow.PrimitiveTypes.Uint8, collective.Uint16: arrow.PrimitiveTypes.Uint16,
	collective.Uint32: arrow.PrimitiveTypes.Uint32, collective.Uint64: arrow.PrimitiveTypes.Uint64,
	collective.Float32: arrow.PrimitiveTypes.Float32, collective.Float64: arrow.PrimitiveTypes.Float64,
}

// kernel is the arithmetic that a reduction of staged vectors is on the device; ok is
// false where it is the host's.
func (d *Comm) kernel(t collective.Type, op collective.Op) (_ kernels.ArithmeticOp, ok bool) {
	typ := arrowTypes[t]
	e := d.b.Set.Arithmetic
	if typ == nil || e.Func == nil || !e.Types.Has(typ.ID()) {
		return 0, false
	}
	switch op.String() {
	case collective.Sum.String():
		return kernels.Add, true
	case collective.Prod.String():
		return kernels.Multiply, true
	}
	return 0, false
}

// Explain says where the reduction of a vector in the device's memory is computed.
func (d *Comm) Explain(t collective.Type, op collective.Op) string {
	name := d.b.Device.Name()
	if d.b.Device.Place().HostAccessible() {
		return fmt.Sprintf("%s of %s: the memory of %s is the host's", op, t, name)
	}
	if _, ok := d.kernel(t, op); ok {
		return fmt.Sprintf("%s of %s: on %s, by its kernels", op, t, name)
	}
	return fmt.Sprintf("%s of %s: on the host, since the kernels of %s do not have it", op, t, name)
}

// AllReduce is collective.Comm.AllReduce; in and out may be the same memory.
func (d *Comm) AllReduce(ctx context.Context, in, out Vector, op collective.Op) error {
	const call = "AllReduce"
	if err := in.check(call); err != nil {
		return err
	}
	if err := out.check(call); err != nil {
		return err
	}
	if in.Type != out.Type || in.Len != out.Len {
		return device.Errorf(device.ErrMismatch, "", call, "input has %d of %s, output %d of %s", in.Len, in.Type, out.Len, out.Type)
	}
	k, ok := d.kernel(in.Type, op)
	if !ok || in.host() || out.host() {
		return d.staged(ctx, call, in, out, true, true, func(i, o collective.Vector) error { return d.c.AllReduce(ctx, i, o, op) })
	}
	return d.reduce(ctx, in, out, k)
}

// part is where rank r's part of n elements begins.
func part(n int64, size, r int) int64 { return n/int64(size)*int64(r) + min(n%int64(size), int64(r)) }

// reduce combines on the device.
func (d *Comm) reduce(ctx context.Context, in, out Vector, k kernels.ArithmeticOp) error {
	rank, size := d.c.Rank(), d.c.Size()
	counts, mine := make([]int64, size), make([]int64, size)
	own := part(in.Len, size, rank+1) - part(in.Len, size, rank)
	for r := range size {
		counts[r] = part(in.Len, size, r+1) - part(in.Len, size, r)
		mine[r] = own
	}
	all := Vector{Type: in.Type, Len: own * int64(size)}
	whole, err := d.room(0, in.Type, in.Len)
	if err != nil {
		return d.fail(err)
	}
	theirs, err := d.room(1, in.Type, max(all.Len, in.Len))
	if err != nil {
		return d.fail(err)
	}
	if all.Buffer, err = memory.New(d.b.Device.Memory(), all.Len*int64(in.Type.Width())); err != nil {
		return d.fail(err)
	}
	defer all.Buffer.Release()
	if err := d.fetch(0, in); err != nil {
		return d.fail(err)
	}
	if err := d.stream.Wait(ctx); err != nil {
		return d.fail(err)
	}
	if err := d.c.AllToAllV(ctx, whole, theirs.Slice(0, all.Len), counts, mine); err != nil {
		return err
	}
	block := whole.Slice(0, own)
	if own > 0 {
		if err := d.combine(ctx, all, own, k); err != nil {
			return d.fail(err)
		}
	}
	if err := d.c.AllGatherV(ctx, block, theirs.Slice(0, in.Len), counts); err != nil {
		return err
	}
	if err := d.store(out, 1); err != nil {
		return err
	}
	return d.stream.Wait(ctx)
}

// combine brings all ranks' operands to the device, and the result to the beginning of
// the first pinned buffer.
func (d *Comm) combine(ctx context.Context, all Vector, own int64, k kernels.ArithmeticOp) error {
	if err := d.store(all, 1); err != nil {
		return err
	}
	sum, err := d.fold(ctx, all, own, 0, d.c.Size(), k)
	if err != nil {
		return err
	}
	defer sum.Release()
	w := int64(all.Type.Width())
	if err := d.stream.Copy(d.pinned[0], 0, sum.Buffer(1), sum.Offset()*w, own*w); err != nil {
		return err
	}
	return d.stream.Wait(ctx)
}

// fold combines the operands of ranks [from, to): those before the largest power of two
// within, and those after it.
func (d *Comm) fold(ctx context.Context, all Vector, own int64, from, to int, k kernels.ArithmeticOp) (*memory.Column, error) {
	if to-from == 1 {
		return memory.NewColumn(memory.Parts{Type: arrowTypes[all.Type], Len: own, Offset: int64(from) * own, Buffers: []*memory.Buffer{nil, all.Buffer.Retain()}})
	}
	half := 1
	for 2*half < to-from {
		half *= 2
	}
	a, err := d.fold(ctx, all, own, from, from+half, k)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	b, err := d.fold(ctx, all, own, from+half, to, k)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return d.b.Arithmetic(ctx, d.stream, k, a, b, kernels.ArithmeticOptions{})
}
