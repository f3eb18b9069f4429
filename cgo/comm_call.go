package main

// #include "base.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/volley-go/volley/collective"
)

// operands are what the operations take of C: read before anything starts.
type operands struct {
	c    *collective.Comm
	t    collective.Type
	err  error
	size int
}

// vector is n elements at p.
func (o *operands) vector(name string, p unsafe.Pointer, n int64) collective.Vector {
	if o.err != nil {
		return collective.Vector{}
	}
	v, err := vector(name, p, n, o.t)
	o.err = err
	return v
}

func (o *operands) op(p *C.char) (op collective.Op) {
	if o.err == nil {
		op, o.err = reduction(p)
	}
	return op
}

func (o *operands) root(n C.int64_t) (r int, is bool) {
	if o.err == nil {
		r, o.err = root("root", n)
	}
	return r, r == o.c.Rank()
}

// counts are the elements of each rank, nil for NULL, and their sum, size times n for NULL.
func (o *operands) counts(name string, p *C.int64_t, n C.int64_t) ([]int64, int64) {
	if p == nil {
		if n < 0 || n > 1<<44 {
			o.err = mismatch("%d elements of each rank", int64(n))
			return nil, 0
		}
		return nil, int64(n) * int64(o.size)
	}
	all, sum := make([]int64, o.size), int64(0)
	for i, n := range unsafe.Slice(p, o.size) {
		if n < 0 || n > 1<<44 {
			o.err = mismatch("%s[%d] is %d", name, i, int64(n))
			return nil, 0
		}
		all[i] = int64(n)
		sum += int64(n)
	}
	return all, sum
}

// operate runs a collective operation: prepare reads the arguments, and what it gives does the work.
func operate(name string, h C.uintptr_t, typ *C.char, t C.uintptr_t, prepare func(o *operands) func(ctx context.Context) error) C.int32_t {
	return long(name, t, func(k *keeper) (work, error) {
		comm, err := kept[*commObject](k, "comm", h)
		if err != nil {
			return nil, err
		}
		k.together = true
		o := &operands{c: comm.c, size: comm.c.Size()}
		if o.t, err = elementType("type", typ); err != nil {
			return nil, comm.named(err)
		}
		run := prepare(o)
		if o.err != nil {
			return nil, comm.named(o.err)
		}
		return func(ctx context.Context) (outcome, error) { return outcome{}, own(ctx, comm.named(run(ctx))) }, nil
	})
}

//export go_volley_comm_barrier
func go_volley_comm_barrier(h, t C.uintptr_t) C.int32_t {
	return long("volley_comm_barrier", t, func(k *keeper) (work, error) {
		o, err := kept[*commObject](k, "comm", h)
		if err != nil {
			return nil, err
		}
		k.together = true
		return func(ctx context.Context) (outcome, error) { return outcome{}, own(ctx, o.named(o.c.Barrier(ctx))) }, nil
	})
}

//export go_volley_comm_all_reduce
func go_volley_comm_all_reduce(h C.uintptr_t, from, to unsafe.Pointer, n C.int64_t, typ, op *C.char, t C.uintptr_t) C.int32_t {
	return operate("volley_comm_all_reduce", h, typ, t, func(o *operands) func(context.Context) error {
		in, out, how := o.vector("from", from, int64(n)), o.vector("to", to, int64(n)), o.op(op)
		return func(ctx context.Context) error { return o.c.AllReduce(ctx, in, out, how) }
	})
}

//export go_volley_comm_reduce
func go_volley_comm_reduce(h C.uintptr_t, from, to unsafe.Pointer, n C.int64_t, typ, op *C.char, at C.int64_t, t C.uintptr_t) C.int32_t {
	return operate("volley_comm_reduce", h, typ, t, func(o *operands) func(context.Context) error {
		r, is := o.root(at)
		in, out, how := o.vector("from", from, int64(n)), rootsOwn(o, "to", to, int64(n), is), o.op(op)
		return func(ctx context.Context) error { return o.c.Reduce(ctx, in, out, how, r) }
	})
}

// rootsOwn is a vector that the root gives and others do not.
func rootsOwn(o *operands, name string, p unsafe.Pointer, n int64, is bool) collective.Vector {
	if !is {
		return collective.Vector{}
	}
	return o.vector(name, p, n)
}

//export go_volley_comm_broadcast
func go_volley_comm_broadcast(h C.uintptr_t, from, to unsafe.Pointer, n C.int64_t, typ *C.char, at C.int64_t, t C.uintptr_t) C.int32_t {
	return operate("volley_comm_broadcast", h, typ, t, func(o *operands) func(context.Context) error {
		r, is := o.root(at)
		in, out := rootsOwn(o, "from", from, int64(n), is), o.vector("to", to, int64(n))
		return func(ctx context.Context) error { return o.c.Broadcast(ctx, in, out, r) }
	})
}

//export go_volley_comm_all_gather
func go_volley_comm_all_gather(h C.uintptr_t, from unsafe.Pointer, n C.int64_t, to unsafe.Pointer, counts *C.int64_t, typ *C.char, t C.uintptr_t) C.int32_t {
	return operate("volley_comm_all_gather", h, typ, t, func(o *operands) func(context.Context) error {
		each, all := o.counts("counts", counts, n)
		in, out := o.vector("from", from, int64(n)), o.vector("to", to, all)
		if each == nil {
			return func(ctx context.Context) error { return o.c.AllGather(ctx, in, out) }
		}
		return func(ctx context.Context) error { return o.c.AllGatherV(ctx, in, out, each) }
	})
}

//export go_volley_comm_gather
func go_volley_comm_gather(h C.uintptr_t, from unsafe.Pointer, n C.int64_t, to unsafe.Pointer, counts *C.int64_t, typ *C.char, at C.int64_t, t C.uintptr_t) C.int32_t {
	return operate("volley_comm_gather", h, typ, t, func(o *operands) func(context.Context) error {
		r, is := o.root(at)
		each, all := o.counts("counts", counts, n)
		in, out := o.vector("from", from, int64(n)), rootsOwn(o, "to", to, all, is)
		if each == nil {
			return func(ctx context.Context) error { return o.c.Gather(ctx, in, out, r) }
		}
		return func(ctx context.Context) error { return o.c.GatherV(ctx, in, out, each, r) }
	})
}

//export go_volley_comm_reduce_scatter
func go_volley_comm_reduce_scatter(h C.uintptr_t, from unsafe.Pointer, counts *C.int64_t, to unsafe.Pointer, n C.int64_t, typ, op *C.char, t C.uintptr_t) C.int32_t {
	return operate("volley_comm_reduce_scatter", h, typ, t, func(o *operands) func(context.Context) error {
		each, all := o.counts("counts", counts, n)
		in, out, how := o.vector("from", from, all), o.vector("to", to, int64(n)), o.op(op)
		if each == nil {
			return func(ctx context.Context) error { return o.c.ReduceScatter(ctx, in, out, how) }
		}
		return func(ctx context.Context) error { return o.c.ReduceScatterV(ctx, in, out, each, how) }
	})
}

//export go_volley_comm_scatter
func go_volley_comm_scatter(h C.uintptr_t, from unsafe.Pointer, counts *C.int64_t, to unsafe.Pointer, n C.int64_t, typ *C.char, at C.int64_t, t C.uintptr_t) C.int32_t {
	return operate("volley_comm_scatter", h, typ, t, func(o *operands) func(context.Context) error {
		r, is := o.root(at)
		each, all := o.counts("counts", counts, n)
		in, out := rootsOwn(o, "from", from, all, is), o.vector("to", to, int64(n))
		if each == nil {
			return func(ctx context.Context) error { return o.c.Scatter(ctx, in, out, r) }
		}
		return func(ctx context.Context) error { return o.c.ScatterV(ctx, in, out, each, r) }
	})
}

//export go_volley_comm_all_to_all
func go_volley_comm_all_to_all(h C.uintptr_t, from, to unsafe.Pointer, n C.int64_t, typ *C.char, t C.uintptr_t) C.int32_t {
	return operate("volley_comm_all_to_all", h, typ, t, func(o *operands) func(context.Context) error {
		_, all := o.counts("count", nil, n)
		in, out := o.vector("from", from, all), o.vector("to", to, all)
		return func(ctx context.Context) error { return o.c.AllToAll(ctx, in, out) }
	})
}

//export go_volley_comm_all_to_all_v
func go_volley_comm_all_to_all_v(h C.uintptr_t, from unsafe.Pointer, sends *C.int64_t, to unsafe.Pointer, receives *C.int64_t, typ *C.char, t C.uintptr_t) C.int32_t {
	return operate("volley_comm_all_to_all_v", h, typ, t, func(o *operands) func(context.Context) error {
		if sends == nil || receives == nil {
			o.err = mismatch("sends or receives is NULL")
			return nil
		}
		out, leaving := o.counts("sends", sends, 0)
		in, coming := o.counts("receives", receives, 0)
		given, taken := o.vector("from", from, leaving), o.vector("to", to, coming)
		return func(ctx context.Context) error { return o.c.AllToAllV(ctx, given, taken, out, in) }
	})
}

//export go_volley_comm_send
func go_volley_comm_send(h C.uintptr_t, from unsafe.Pointer, n C.int64_t, typ *C.char, at C.int64_t, t C.uintptr_t) C.int32_t {
	return operate("volley_comm_send", h, typ, t, func(o *operands) func(context.Context) error {
		r, _ := o.root(at)
		v := o.vector("from", from, int64(n))
		return func(ctx context.Context) error { return o.c.Send(ctx, v, r) }
	})
}

//export go_volley_comm_receive
func go_volley_comm_receive(h C.uintptr_t, to unsafe.Pointer, n C.int64_t, typ *C.char, at C.int64_t, t C.uintptr_t) C.int32_t {
	return operate("volley_comm_receive", h, typ, t, func(o *operands) func(context.Context) error {
		r, _ := o.root(at)
		v := o.vector("to", to, int64(n))
		return func(ctx context.Context) error { return o.c.Recv(ctx, v, r) }
	})
}
