package main

// #include "base.h"
import "C"

import (
	"context"

	"github.com/volley-go/volley/collective/ondevice"
	"github.com/volley-go/volley/kernels"
)

// vectorCall is an operation on vectors: its arguments, read before anything starts.
type vectorCall struct {
	operands
	comm  *commObject
	d     *ondevice.Comm
	given []*vectorObject
	k     *keeper
}

// take finds a vector that the rank gives. A NULL is an error where the operation needs it, and else the zero Vector.
func (v *vectorCall) take(name string, h C.uintptr_t, needed, written bool) (of ondevice.Vector) {
	if v.err != nil || h == 0 && !needed {
		return of
	}
	o, err := kept[*vectorObject](v.k, name, h)
	if err == nil && written && o.readOnly {
		err = mismatch("%s must not be written to: it is a column's, or a tensor that is read only", name)
	}
	if err != nil {
		v.err = err
		return of
	}
	v.given = append(v.given, o)
	return o.v
}

// from and to are the two sides of an operation.
func (v *vectorCall) from(h C.uintptr_t, needed bool) ondevice.Vector {
	return v.take("from", h, needed, false)
}
func (v *vectorCall) to(h C.uintptr_t, needed bool) ondevice.Vector {
	return v.take("to", h, needed, true)
}

// each are the elements of each rank, nil for NULL.
func (v *vectorCall) each(name string, p *C.int64_t) []int64 {
	if v.err != nil || p == nil {
		return nil
	}
	all, _ := v.counts(name, p, 0)
	return all
}

// carry finds what carries the vectors: all that are on a device are on the same.
func (v *vectorCall) carry() error {
	if v.err != nil {
		return v.err
	}
	var at *kernels.Backend
	for _, o := range v.given {
		if o.b == nil {
			continue
		}
		if at != nil && at != o.b {
			return mismatch("a vector on %s and one on %s: bring one to the other's device", at.Device.Name(), o.b.Device.Name())
		}
		at = o.b
	}
	var err error
	if at == nil {
		if at, err = host(); err != nil {
			return err
		}
	}
	v.d, err = v.comm.on.of(v.comm.c, at)
	return err
}

// there waits until the vectors are what they should be.
func (v *vectorCall) there(ctx context.Context) error {
	for _, o := range v.given {
		if err := o.at.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// onVectors runs a collective operation on vectors: prepare reads the arguments, and what it gives does the work.
func onVectors(name string, h, t C.uintptr_t, prepare func(v *vectorCall) func(ctx context.Context) error) C.int32_t {
	return long(name, t, func(k *keeper) (work, error) {
		comm, err := kept[*commObject](k, "comm", h)
		if err != nil {
			return nil, err
		}
		k.together = true
		v := &vectorCall{operands: operands{c: comm.c, size: comm.c.Size()}, comm: comm, k: k}
		run := prepare(v)
		if err := v.carry(); err != nil {
			return nil, comm.named(err)
		}
		return func(ctx context.Context) (outcome, error) {
			err := v.there(ctx)
			if err == nil || ctx.Err() != nil { // the other ranks hear of the end of ctx
				err = run(ctx)
			}
			return outcome{}, own(ctx, comm.named(err))
		}, nil
	})
}

//export go_volley_vector_all_reduce
func go_volley_vector_all_reduce(h, from, to C.uintptr_t, op *C.char, t C.uintptr_t) C.int32_t {
	return onVectors("volley_vector_all_reduce", h, t, func(v *vectorCall) func(context.Context) error {
		in, out, how := v.from(from, true), v.to(to, true), v.op(op)
		return func(ctx context.Context) error { return v.d.AllReduce(ctx, in, out, how) }
	})
}

//export go_volley_vector_start_all_reduce
func go_volley_vector_start_all_reduce(h, from, to C.uintptr_t, op *C.char, out *C.uintptr_t) C.int32_t {
	return call("volley_vector_start_all_reduce", func() error {
		k := &keeper{}
		defer k.drop() // the operation keeps its vectors' memory
		comm, err := kept[*commObject](k, "comm", h)
		if err != nil {
			return err
		}
		v := &vectorCall{operands: operands{c: comm.c, size: comm.c.Size()}, comm: comm, k: k}
		in, made, how := v.from(from, true), v.to(to, true), v.op(op)
		if err := v.carry(); err != nil {
			return comm.named(err)
		}
		if err := v.there(context.Background()); err != nil {
			return comm.named(err)
		}
		*out = register(&request{h: v.d.AllReduceAsync(context.Background(), in, made, how)})
		return nil
	})
}

//export go_volley_vector_reduce
func go_volley_vector_reduce(h, from, to C.uintptr_t, op *C.char, at C.int64_t, t C.uintptr_t) C.int32_t {
	return onVectors("volley_vector_reduce", h, t, func(v *vectorCall) func(context.Context) error {
		r, is := v.root(at)
		in, out, how := v.from(from, true), v.own("to", to, is, true), v.op(op)
		return func(ctx context.Context) error { return v.d.Reduce(ctx, in, out, how, r) }
	})
}

// own is a vector that the root gives and others do not.
func (v *vectorCall) own(name string, h C.uintptr_t, is, written bool) ondevice.Vector {
	if !is {
		return ondevice.Vector{}
	}
	return v.take(name, h, true, written)
}

//export go_volley_vector_broadcast
func go_volley_vector_broadcast(h, from, to C.uintptr_t, at C.int64_t, t C.uintptr_t) C.int32_t {
	return onVectors("volley_vector_broadcast", h, t, func(v *vectorCall) func(context.Context) error {
		r, is := v.root(at)
		in, out := v.own("from", from, is, false), v.to(to, true)
		return func(ctx context.Context) error { return v.d.Broadcast(ctx, in, out, r) }
	})
}

//export go_volley_vector_all_gather
func go_volley_vector_all_gather(h, from, to C.uintptr_t, counts *C.int64_t, t C.uintptr_t) C.int32_t {
	return onVectors("volley_vector_all_gather", h, t, func(v *vectorCall) func(context.Context) error {
		in, out, each := v.from(from, true), v.to(to, true), v.each("counts", counts)
		if each == nil {
			return func(ctx context.Context) error { return v.d.AllGather(ctx, in, out) }
		}
		return func(ctx context.Context) error { return v.d.AllGatherV(ctx, in, out, each) }
	})
}

//export go_volley_vector_gather
func go_volley_vector_gather(h, from, to C.uintptr_t, counts *C.int64_t, at C.int64_t, t C.uintptr_t) C.int32_t {
	return onVectors("volley_vector_gather", h, t, func(v *vectorCall) func(context.Context) error {
		r, is := v.root(at)
		in, out, each := v.from(from, true), v.own("to", to, is, true), v.each("counts", counts)
		if each == nil {
			return func(ctx context.Context) error { return v.d.Gather(ctx, in, out, r) }
		}
		return func(ctx context.Context) error { return v.d.GatherV(ctx, in, out, each, r) }
	})
}

//export go_volley_vector_reduce_scatter
func go_volley_vector_reduce_scatter(h, from, to C.uintptr_t, counts *C.int64_t, op *C.char, t C.uintptr_t) C.int32_t {
	return onVectors("volley_vector_reduce_scatter", h, t, func(v *vectorCall) func(context.Context) error {
		in, out, each, how := v.from(from, true), v.to(to, true), v.each("counts", counts), v.op(op)
		if each == nil {
			return func(ctx context.Context) error { return v.d.ReduceScatter(ctx, in, out, how) }
		}
		return func(ctx context.Context) error { return v.d.ReduceScatterV(ctx, in, out, each, how) }
	})
}

//export go_volley_vector_scatter
func go_volley_vector_scatter(h, from, to C.uintptr_t, counts *C.int64_t, at C.int64_t, t C.uintptr_t) C.int32_t {
	return onVectors("volley_vector_scatter", h, t, func(v *vectorCall) func(context.Context) error {
		r, is := v.root(at)
		in, out, each := v.own("from", from, is, false), v.to(to, true), v.each("counts", counts)
		if each == nil {
			return func(ctx context.Context) error { return v.d.Scatter(ctx, in, out, r) }
		}
		return func(ctx context.Context) error { return v.d.ScatterV(ctx, in, out, each, r) }
	})
}

//export go_volley_vector_all_to_all
func go_volley_vector_all_to_all(h, from, to C.uintptr_t, sends, receives *C.int64_t, t C.uintptr_t) C.int32_t {
	return onVectors("volley_vector_all_to_all", h, t, func(v *vectorCall) func(context.Context) error {
		in, out, leaving, coming := v.from(from, true), v.to(to, true), v.each("sends", sends), v.each("receives", receives)
		if (leaving == nil) != (coming == nil) && v.err == nil {
			v.err = mismatch("one of sends and receives is NULL: both are, or none")
		}
		if leaving == nil {
			return func(ctx context.Context) error { return v.d.AllToAll(ctx, in, out) }
		}
		return func(ctx context.Context) error { return v.d.AllToAllV(ctx, in, out, leaving, coming) }
	})
}

//export go_volley_vector_send
func go_volley_vector_send(h, from C.uintptr_t, at C.int64_t, t C.uintptr_t) C.int32_t {
	return onVectors("volley_vector_send", h, t, func(v *vectorCall) func(context.Context) error {
		to, _ := v.root(at)
		in := v.from(from, true)
		return func(ctx context.Context) error { return v.d.Send(ctx, in, to) }
	})
}

//export go_volley_vector_receive
func go_volley_vector_receive(h, to C.uintptr_t, at C.int64_t, t C.uintptr_t) C.int32_t {
	return onVectors("volley_vector_receive", h, t, func(v *vectorCall) func(context.Context) error {
		from, _ := v.root(at)
		out := v.to(to, true)
		return func(ctx context.Context) error { return v.d.Recv(ctx, out, from) }
	})
}

//export go_volley_vector_explain
func go_volley_vector_explain(h, d C.uintptr_t, typ, op *C.char, out **C.char) C.int32_t {
	return call("volley_vector_explain", func() error {
		return with("comm", h, func(o *commObject) error {
			t, err := elementType("type", typ)
			if err != nil {
				return err
			}
			how, err := reduction(op)
			if err != nil {
				return err
			}
			b, err := backend(d)
			if err != nil {
				return err
			}
			at, err := o.on.of(o.c, b)
			if err != nil {
				return err
			}
			return giveText(out, at.Explain(t, how))
		})
	})
}
