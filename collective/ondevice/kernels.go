package ondevice

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/nccl"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

var arrowTypes = map[collective.Type]arrow.DataType{
	collective.Int8: arrow.PrimitiveTypes.Int8, collective.Int16: arrow.PrimitiveTypes.Int16, collective.Int32: arrow.PrimitiveTypes.Int32,
	collective.Int64: arrow.PrimitiveTypes.Int64, collective.Uint8: arrow.PrimitiveTypes.Uint8, collective.Uint16: arrow.PrimitiveTypes.Uint16,
	collective.Uint32: arrow.PrimitiveTypes.Uint32, collective.Uint64: arrow.PrimitiveTypes.Uint64,
	collective.Float32: arrow.PrimitiveTypes.Float32, collective.Float64: arrow.PrimitiveTypes.Float64,
}

// combined gets all ranks' operands of this rank's part, of counts[r] elements for rank
// r, and gives their reduction, on the device.
func (d *Comm) combined(ctx context.Context, call string, in Vector, counts []int64, op collective.Op) (*memory.Column, error) {
	own := counts[d.c.Rank()]
	all := Vector{Type: in.Type, Len: own * int64(d.c.Size())}
	var err error
	if all.Buffer, err = memory.New(d.b.Device.Memory(), all.Len*int64(in.Type.Width())); err != nil {
		return nil, d.fail(err)
	}
	defer all.Buffer.Release()
	if err := d.operands(ctx, call, in, all, counts, op); err != nil {
		return nil, err
	}
	sum, err := column(all, 0, own)
	if err == nil && own > 0 {
		sum.Release()
		sum, err = d.fold(ctx, all, own, 0, d.c.Size(), op)
	}
	if err == nil && own > 0 && isAvg(op) {
		defer sum.Release()
		sum, err = d.divided(ctx, sum)
	}
	if err != nil {
		return nil, d.fail(err)
	}
	return sum, nil
}

// operands brings every rank's operands of this rank's part into all.
func (d *Comm) operands(ctx context.Context, call string, in, all Vector, counts []int64, op collective.Op) error {
	own := counts[d.c.Rank()]
	if d.carries(in) {
		var sends, recvs []nccl.Part
		at := int64(0)
		for r, n := range counts {
			sends = append(sends, nccl.Part{Peer: r, Vector: in.bytes(at, n)})
			recvs = append(recvs, nccl.Part{Peer: r, Vector: all.bytes(int64(r)*own, own)})
			at += n
		}
		return d.exchange(ctx, fmt.Sprintf("%s of %d %s, %s: operands, %v", call, in.Len, in.Type, op, counts), sends, recvs)
	}
	mine := make([]int64, len(counts))
	for r := range mine {
		mine[r] = own
	}
	given, theirs, err := d.rooms(in.Type, in.Len, all.Len)
	if err == nil {
		err = d.fetch(0, in)
	}
	if err == nil {
		err = d.stream.Wait(ctx)
	}
	if err != nil {
		return d.fail(err)
	}
	if err := d.c.AllToAllV(ctx, given, theirs, counts, mine); err != nil {
		return err
	}
	if err := d.store(all, 1); err != nil {
		return d.fail(err)
	}
	return nil
}

// share gives every rank the parts of all.
func (d *Comm) share(ctx context.Context, call string, sum *memory.Column, out Vector, counts []int64, op collective.Op) error {
	before := int64(0)
	for _, n := range counts[:d.c.Rank()] {
		before += n
	}
	if d.carries(out) {
		if err := d.finish(ctx, d.put(out, before, sum)); err != nil {
			return err
		}
		var sends, recvs []nccl.Part
		at := int64(0)
		for r, n := range counts {
			if r != d.c.Rank() {
				sends = append(sends, nccl.Part{Peer: r, Vector: out.bytes(before, counts[d.c.Rank()])})
				recvs = append(recvs, nccl.Part{Peer: r, Vector: out.bytes(at, n)})
			}
			at += n
		}
		return d.exchange(ctx, fmt.Sprintf("%s of %d %s, %s: results", call, out.Len, out.Type, op), sends, recvs)
	}
	part, whole, err := d.near(ctx, sum, out)
	if err != nil {
		return err
	}
	if err := d.c.AllGatherV(ctx, part, whole, counts); err != nil {
		return err
	}
	return d.finish(ctx, d.store(out, 1))
}

// collect gives the root the parts of all.
func (d *Comm) collect(ctx context.Context, call string, sum *memory.Column, out Vector, counts []int64, root int) error {
	at := d.c.Rank() == root
	if d.carries(out) {
		part := Vector{Buffer: sum.Buffer(1), Type: out.Type, Offset: sum.Offset(), Len: sum.Len()}
		sends := []nccl.Part{{Peer: root, Vector: part.bytes(0, part.Len)}}
		var recvs []nccl.Part
		before := int64(0)
		for r := 0; at && r < d.c.Size(); r++ {
			recvs = append(recvs, nccl.Part{Peer: r, Vector: out.bytes(before, counts[r])})
			before += counts[r]
		}
		return d.exchange(ctx, fmt.Sprintf("%s of %d %s to %d: results", call, out.Len, out.Type, root), sends, recvs)
	}
	part, whole, err := d.near(ctx, sum, out)
	if err != nil {
		return err
	}
	if err := d.c.GatherV(ctx, part, whole, counts, root); err != nil || !at {
		return err
	}
	return d.finish(ctx, d.store(out, 1))
}

// near brings a column to the first pinned buffer, and makes room for a vector in the
// second.
func (d *Comm) near(ctx context.Context, c *memory.Column, v Vector) (part, whole collective.Vector, err error) {
	if part, whole, err = d.rooms(v.Type, c.Len(), v.Len); err == nil && c.Len() > 0 {
		w := int64(v.Type.Width())
		err = d.stream.Copy(d.pinned[0], 0, c.Buffer(1), c.Offset()*w, c.Len()*w)
	}
	return part, whole, d.finish(ctx, err)
}

// fold combines the operands of ranks [from, to): those before the largest power of two
// within, and those after it.
func (d *Comm) fold(ctx context.Context, all Vector, own int64, from, to int, op collective.Op) (*memory.Column, error) {
	if to-from == 1 {
		return column(all, int64(from)*own, own)
	}
	half := 1
	for 2*half < to-from {
		half *= 2
	}
	a, err := d.fold(ctx, all, own, from, from+half, op)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	b, err := d.fold(ctx, all, own, from+half, to, op)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return d.pair(ctx, a, b, op)
}

// pair combines two operands.
func (d *Comm) pair(ctx context.Context, a, b *memory.Column, op collective.Op) (*memory.Column, error) {
	switch op.String() {
	case collective.Min.String():
		return d.choose(ctx, kernels.Less, a, b)
	case collective.Max.String():
		return d.choose(ctx, kernels.Greater, a, b)
	case collective.Prod.String():
		return d.b.Arithmetic(ctx, d.stream, kernels.Multiply, a, b, kernels.ArithmeticOptions{})
	}
	return d.b.Arithmetic(ctx, d.stream, kernels.Add, a, b, kernels.ArithmeticOptions{})
}

// choose takes a where it compares so with b, or is NaN, and b elsewhere.
func (d *Comm) choose(ctx context.Context, compare kernels.CompareOp, a, b *memory.Column) (*memory.Column, error) {
	first, err := d.b.Compare(ctx, d.stream, compare, a, b)
	if err != nil {
		return nil, err
	}
	defer func() { first.Release() }()
	if id := a.Type().ID(); id == arrow.FLOAT32 || id == arrow.FLOAT64 {
		nan, err := d.b.Compare(ctx, d.stream, kernels.NotEqual, a, a)
		if err != nil {
			return nil, err
		}
		defer nan.Release()
		either, err := d.b.Logic(ctx, d.stream, kernels.Or, first, nan)
		if err != nil {
			return nil, err
		}
		first.Release()
		first = either
	}
	return d.b.IfElse(ctx, d.stream, first, a, b)
}

// divided is a sum by the number of ranks.
func (d *Comm) divided(ctx context.Context, sum *memory.Column) (*memory.Column, error) {
	n := kernels.Int(sum.Type(), int64(d.c.Size()))
	if id := sum.Type().ID(); id == arrow.FLOAT32 || id == arrow.FLOAT64 {
		n = kernels.Float(sum.Type(), float64(d.c.Size()))
	}
	return d.b.Arithmetic(ctx, d.stream, kernels.Divide, sum, n, kernels.ArithmeticOptions{})
}
