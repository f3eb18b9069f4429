package main

// #include "base.h"
import "C"

import (
	"context"
	"errors"
	"unsafe"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
)

// request is an operation that was started.
type request struct {
	unmanaged
	h started
}

// started is a handle of an operation on vectors of the host or of a device.
type started interface {
	Done() <-chan struct{}
	Wait(ctx context.Context) error
}

func (*request) kind() string { return "request" }

// start starts a collective operation: prepare reads the arguments and gives what starts it.
func start(name string, h C.uintptr_t, typ *C.char, out *C.uintptr_t, prepare func(o *operands) func(ctx context.Context) *collective.Handle) C.int32_t {
	return call(name, func() error {
		return with("comm", h, func(comm *commObject) (err error) {
			o := &operands{c: comm.c, size: comm.c.Size()}
			if o.t, err = elementType("type", typ); err != nil {
				return comm.named(err)
			}
			begin := prepare(o)
			if o.err != nil {
				return comm.named(o.err)
			}
			*out = register(&request{h: begin(context.Background())})
			return nil
		})
	})
}

//export go_volley_comm_start_all_reduce
func go_volley_comm_start_all_reduce(h C.uintptr_t, from, to unsafe.Pointer, n C.int64_t, typ, op *C.char, out *C.uintptr_t) C.int32_t {
	return start("volley_comm_start_all_reduce", h, typ, out, func(o *operands) func(context.Context) *collective.Handle {
		in, made, how := o.vector("from", from, int64(n)), o.vector("to", to, int64(n)), o.op(op)
		return func(ctx context.Context) *collective.Handle { return o.c.AllReduceAsync(ctx, in, made, how) }
	})
}

//export go_volley_comm_start_reduce
func go_volley_comm_start_reduce(h C.uintptr_t, from, to unsafe.Pointer, n C.int64_t, typ, op *C.char, at C.int64_t, out *C.uintptr_t) C.int32_t {
	return start("volley_comm_start_reduce", h, typ, out, func(o *operands) func(context.Context) *collective.Handle {
		r, is := o.root(at)
		in, made, how := o.vector("from", from, int64(n)), rootsOwn(o, "to", to, int64(n), is), o.op(op)
		return func(ctx context.Context) *collective.Handle { return o.c.ReduceAsync(ctx, in, made, how, r) }
	})
}

//export go_volley_comm_start_broadcast
func go_volley_comm_start_broadcast(h C.uintptr_t, from, to unsafe.Pointer, n C.int64_t, typ *C.char, at C.int64_t, out *C.uintptr_t) C.int32_t {
	return start("volley_comm_start_broadcast", h, typ, out, func(o *operands) func(context.Context) *collective.Handle {
		r, is := o.root(at)
		in, made := rootsOwn(o, "from", from, int64(n), is), o.vector("to", to, int64(n))
		return func(ctx context.Context) *collective.Handle { return o.c.BroadcastAsync(ctx, in, made, r) }
	})
}

//export go_volley_comm_start_all_gather
func go_volley_comm_start_all_gather(h C.uintptr_t, from unsafe.Pointer, n C.int64_t, to unsafe.Pointer, typ *C.char, out *C.uintptr_t) C.int32_t {
	return start("volley_comm_start_all_gather", h, typ, out, func(o *operands) func(context.Context) *collective.Handle {
		_, all := o.counts("count", nil, n)
		in, made := o.vector("from", from, int64(n)), o.vector("to", to, all)
		return func(ctx context.Context) *collective.Handle { return o.c.AllGatherAsync(ctx, in, made) }
	})
}

//export go_volley_comm_start_reduce_scatter
func go_volley_comm_start_reduce_scatter(h C.uintptr_t, from, to unsafe.Pointer, n C.int64_t, typ, op *C.char, out *C.uintptr_t) C.int32_t {
	return start("volley_comm_start_reduce_scatter", h, typ, out, func(o *operands) func(context.Context) *collective.Handle {
		_, all := o.counts("count", nil, n)
		in, made, how := o.vector("from", from, all), o.vector("to", to, int64(n)), o.op(op)
		return func(ctx context.Context) *collective.Handle { return o.c.ReduceScatterAsync(ctx, in, made, how) }
	})
}

//export go_volley_comm_start_all_to_all
func go_volley_comm_start_all_to_all(h C.uintptr_t, from, to unsafe.Pointer, n C.int64_t, typ *C.char, out *C.uintptr_t) C.int32_t {
	return start("volley_comm_start_all_to_all", h, typ, out, func(o *operands) func(context.Context) *collective.Handle {
		_, all := o.counts("count", nil, n)
		in, made := o.vector("from", from, all), o.vector("to", to, all)
		return func(ctx context.Context) *collective.Handle { return o.c.AllToAllAsync(ctx, in, made) }
	})
}

//export go_volley_request_wait
func go_volley_request_wait(h, t C.uintptr_t) C.int32_t {
	return long("volley_request_wait", t, func(k *keeper) (work, error) {
		r, err := kept[*request](k, "request", h)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			err := r.h.Wait(ctx)
			if errors.Is(err, device.ErrCanceled) {
				err = own(ctx, err)
			}
			return outcome{}, err
		}, nil
	})
}

//export go_volley_request_done
func go_volley_request_done(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return call("volley_request_done", func() error {
		return with("request", h, func(r *request) error {
			select {
			case <-r.h.Done():
				*out = 1
			default:
			}
			return nil
		})
	})
}

//export go_volley_request_free
func go_volley_request_free(h C.uintptr_t) C.int32_t { return free[*request]("volley_request_free", h) }
