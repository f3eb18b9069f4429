package ondevice

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/memory"
)

// AllReduce is collective.Comm.AllReduce; in and out may be the same memory.
func (d *Comm) AllReduce(ctx context.Context, in, out Vector, op collective.Op) error {
	o, err := d.allReduce(in, out, op)
	return d.do(ctx, o, err)
}

func (d *Comm) allReduce(in, out Vector, op collective.Op) (operation, error) {
	o := operation{call: "AllReduce", vectors: []Vector{in, out}}
	if err := d.blocks(o.call, in, out, 1, 1); err != nil {
		return o, err
	}
	o.run = func(ctx context.Context) error { return d.reducedToAll(ctx, in, out, op) }
	return o, nil
}

// reducedToAll runs an AllReduce.
func (d *Comm) reducedToAll(ctx context.Context, in, out Vector, op collective.Op) error {
	const call = "AllReduce"
	switch d.by(in, out, op) {
	case byNCCL:
		what := fmt.Sprintf("%s of %d %s, %s", call, in.Len, in.Type, op)
		return d.averaged(ctx, out, op, d.carried(ctx, what, func(ctx context.Context) error {
			return d.direct.AllReduce(ctx, d.stream, ncclTypes[in.Type], in.whole(), out.whole(), ncclOp(in.Type, op))
		}))
	case byKernels:
		counts := d.parts(in.Len)
		sum, err := d.combined(ctx, call, in, counts, op)
		if err != nil {
			return err
		}
		defer sum.Release()
		return d.share(ctx, call, sum, out, counts, op)
	}
	return d.staged(ctx, in, out, true, true, func(i, o collective.Vector) error { return d.c.AllReduce(ctx, i, o, op) })
}

// Reduce is collective.Comm.Reduce; the root's in and out may be the same memory, and
// others' out is not looked at.
func (d *Comm) Reduce(ctx context.Context, in, out Vector, op collective.Op, root int) error {
	o, err := d.reduce(in, out, op, root)
	return d.do(ctx, o, err)
}

func (d *Comm) reduce(in, out Vector, op collective.Op, root int) (operation, error) {
	const call = "Reduce"
	at := d.c.Rank() == root
	if !at {
		out = in
	}
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.blocks(call, in, out, 1, 1); err != nil {
		return o, err
	}
	if err := d.checks(call, root); err != nil {
		return o, err
	}
	o.run = func(ctx context.Context) error {
		switch d.by(in, out, op) {
		case byNCCL:
			what := fmt.Sprintf("%s of %d %s, %s, to %d", call, in.Len, in.Type, op, root)
			err := d.carried(ctx, what, func(ctx context.Context) error {
				return d.direct.Reduce(ctx, d.stream, ncclTypes[in.Type], in.whole(), out.whole(), ncclOp(in.Type, op), root)
			})
			if !at {
				return err
			}
			return d.averaged(ctx, out, op, err)
		case byKernels:
			counts := d.parts(in.Len)
			sum, err := d.combined(ctx, call, in, counts, op)
			if err != nil {
				return err
			}
			defer sum.Release()
			return d.collect(ctx, call, sum, out, counts, root)
		}
		return d.staged(ctx, in, out, true, at, func(i, o collective.Vector) error { return d.c.Reduce(ctx, i, o, op, root) })
	}
	return o, nil
}

// ReduceScatter is collective.Comm.ReduceScatter. out may be the rank's own block of in.
func (d *Comm) ReduceScatter(ctx context.Context, in, out Vector, op collective.Op) error {
	o, err := d.reduceScatter(in, out, op)
	return d.do(ctx, o, err)
}

func (d *Comm) reduceScatter(in, out Vector, op collective.Op) (operation, error) {
	const call = "ReduceScatter"
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.blocks(call, in, out, d.c.Size(), 1); err != nil {
		return o, err
	}
	o.run = func(ctx context.Context) error {
		switch d.by(in, out, op) {
		case byNCCL:
			what := fmt.Sprintf("%s of %d %s, %s", call, in.Len, in.Type, op)
			return d.averaged(ctx, out, op, d.carried(ctx, what, func(ctx context.Context) error {
				return d.direct.ReduceScatter(ctx, d.stream, ncclTypes[in.Type], in.whole(), out.whole(), ncclOp(in.Type, op))
			}))
		case byKernels:
			return d.combinedTo(ctx, call, in, out, d.equal(out.Len), op)
		}
		return d.staged(ctx, in, out, true, true, func(i, o collective.Vector) error { return d.c.ReduceScatter(ctx, i, o, op) })
	}
	return o, nil
}

// ReduceScatterV is collective.Comm.ReduceScatterV: a ReduceScatter whose block for rank r
// has counts[r] elements. NCCL has no such call: it carries, and the kernels reduce.
func (d *Comm) ReduceScatterV(ctx context.Context, in, out Vector, counts []int64, op collective.Op) error {
	o, err := d.reduceScatterV(in, out, counts, op)
	return d.do(ctx, o, err)
}

func (d *Comm) reduceScatterV(in, out Vector, counts []int64, op collective.Op) (operation, error) {
	const call = "ReduceScatterV"
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.sized(call, out, in, counts, true); err != nil {
		return o, err
	}
	o.run = func(ctx context.Context) error {
		if d.by(in, out, op) != byHost && d.folds(in.Type, op) {
			return d.combinedTo(ctx, call, in, out, counts, op)
		}
		return d.staged(ctx, in, out, true, true, func(i, o collective.Vector) error { return d.c.ReduceScatterV(ctx, i, o, counts, op) })
	}
	return o, nil
}

// combinedTo gives this rank its part of the reduction.
func (d *Comm) combinedTo(ctx context.Context, call string, in, out Vector, counts []int64, op collective.Op) error {
	sum, err := d.combined(ctx, call, in, counts, op)
	if err != nil {
		return err
	}
	defer sum.Release()
	return d.finish(ctx, d.put(out, 0, sum))
}

// parts cuts n elements into one part for each rank, that of lower ranks longer by one.
func (d *Comm) parts(n int64) []int64 {
	size := int64(d.c.Size())
	counts := make([]int64, size)
	for r := range counts {
		counts[r] = n / size
		if int64(r) < n%size {
			counts[r]++
		}
	}
	return counts
}

// averaged divides what NCCL has summed.
func (d *Comm) averaged(ctx context.Context, out Vector, op collective.Op, err error) error {
	if err != nil || !isAvg(op) || arrowTypes[out.Type] == nil || out.Len == 0 {
		return err
	}
	sum, err := column(out, out.Offset, out.Len)
	if err == nil {
		defer sum.Release()
		var mean *memory.Column
		if mean, err = d.divided(ctx, sum); err == nil {
			defer mean.Release()
			err = d.put(out, 0, mean)
		}
	}
	return d.finish(ctx, err)
}

// put queues the copy of a column into a vector, from an element on.
func (d *Comm) put(v Vector, at int64, c *memory.Column) error {
	if c.Len() == 0 {
		return nil
	}
	w := int64(v.Type.Width())
	return d.stream.Copy(v.Buffer, (v.Offset+at)*w, c.Buffer(1), c.Offset()*w, c.Len()*w)
}

// finish waits for the stream, and tells the others when this rank cannot go on.
func (d *Comm) finish(ctx context.Context, err error) error {
	if err == nil {
		err = d.stream.Wait(ctx)
	}
	if err != nil {
		return d.fail(err)
	}
	return nil
}

// column views elements of a vector's buffer.
func column(v Vector, offset, n int64) (*memory.Column, error) {
	return memory.NewColumn(memory.Parts{Type: arrowTypes[v.Type], Len: n, Offset: offset, Buffers: []*memory.Buffer{nil, v.Buffer.Retain()}})
}

// rooms makes sure that both pinned buffers are long enough.
func (d *Comm) rooms(t collective.Type, first, second int64) (a, b collective.Vector, err error) {
	if a, err = d.room(0, t, first); err == nil {
		b, err = d.room(1, t, second)
	}
	return a, b, err
}
