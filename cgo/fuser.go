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

// fuserObject makes one operation of many small ones. end ends its context, which is its own: the token of the call that made it may be gone.
type fuserObject struct {
	unmanaged
	c   *collective.Comm
	f   *collective.Fuser
	end context.CancelFunc
}

func (*fuserObject) kind() string { return "fuser" }

// leave ends the fuser, and what it has not done.
func (o *fuserObject) leave() {
	o.end()
	_ = o.f.Close() // its error is of what nobody waits for
}

//export go_volley_fuser_new
func go_volley_fuser_new(h C.uintptr_t, bytes, delay C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_fuser_new", t, func(k *keeper) (work, error) {
		o, err := kept[*commObject](k, "comm", h)
		if err != nil {
			return nil, err
		}
		if bytes < 0 || delay < 0 || delay > 1<<31 {
			return nil, mismatch("bytes is %d and delay %d ms: neither is negative", int64(bytes), int64(delay))
		}
		made := collective.FuserOptions{Bytes: int64(bytes), Delay: milliseconds(delay)}
		return func(ctx context.Context) (outcome, error) {
			lasting, end := context.WithCancel(context.Background())
			stop := context.AfterFunc(ctx, end)
			f, err := collective.NewFuser(lasting, o.c, made)
			if !stop() && err == nil { // the call's token was cancelled, and with it the fuser
				_ = f.Close()
				err = device.Canceled(ctx, "", "fuser")
			}
			if err != nil {
				end()
				return outcome{}, own(ctx, o.named(err))
			}
			made := &fuserObject{c: o.c, f: f, end: end}
			return outcome{commit: func() { *out = register(made) }, discard: made.leave}, nil
		}, nil
	})
}

//export go_volley_fuser_all_reduce
func go_volley_fuser_all_reduce(h C.uintptr_t, from, to unsafe.Pointer, n C.int64_t, typ, op *C.char, out *C.uintptr_t) C.int32_t {
	return call("volley_fuser_all_reduce", func() error {
		return with("fuser", h, func(f *fuserObject) (err error) {
			o := &operands{c: f.c, size: f.c.Size()}
			if o.t, err = elementType("type", typ); err != nil {
				return onRank(f.c, err)
			}
			in, made, how := o.vector("from", from, int64(n)), o.vector("to", to, int64(n)), o.op(op)
			if o.err != nil {
				return onRank(f.c, o.err)
			}
			*out = register(&request{h: f.f.AllReduceAsync(in, made, how)})
			return nil
		})
	})
}

//export go_volley_fuser_wait
func go_volley_fuser_wait(h, t C.uintptr_t) C.int32_t {
	return long("volley_fuser_wait", t, func(k *keeper) (work, error) {
		o, err := kept[*fuserObject](k, "fuser", h)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			err := o.f.Wait(ctx)
			if errors.Is(err, device.ErrCanceled) {
				err = own(ctx, err)
			}
			return outcome{}, err
		}, nil
	})
}

//export go_volley_fuser_close
func go_volley_fuser_close(h, t C.uintptr_t) C.int32_t {
	return long("volley_fuser_close", t, func(k *keeper) (work, error) {
		o, err := kept[*fuserObject](k, "fuser", h)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			stop := context.AfterFunc(ctx, o.end)
			err := o.f.Close()
			stop()
			return outcome{}, own(ctx, err)
		}, nil
	})
}

//export go_volley_fuser_fault
func go_volley_fuser_fault(h C.uintptr_t, ranks *C.int64_t, capacity C.int64_t, cause **C.char, n *C.int64_t) C.int32_t {
	return call("volley_fuser_fault", func() error {
		return with("fuser", h, func(o *fuserObject) error { return giveFault(o.f.Fault(), ranks, capacity, cause, n) })
	})
}

//export go_volley_fuser_free
func go_volley_fuser_free(h C.uintptr_t) C.int32_t {
	if o, err := find[*fuserObject]("fuser", h); err == nil {
		o.leave()
	}
	return free[*fuserObject]("volley_fuser_free", h)
}
