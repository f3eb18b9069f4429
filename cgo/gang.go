package main

// #include "base.h"
import "C"

import (
	"context"
	"errors"
	"os"
	"sync"
	"unsafe"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/gang"
	"github.com/volley-go/volley/table"
)

// gangObject is a place in a gang: its start, or a worker.
type gangObject struct {
	unmanaged
	start  *gang.Gang
	worker *gang.Worker

	mu    sync.Mutex
	calls map[int64]*gang.Call
	last  int64
	fault *collective.Fault // of the last call that failed so
}

func (*gangObject) kind() string { return "gang" }

// place is what the start and a worker can do alike.
type place interface {
	Send(ctx context.Context, to int, tag uint64, message []byte) error
	Recv(ctx context.Context, from int, tag uint64) ([]byte, error)
	Put(ctx context.Context, name string, value any) (gang.Ref, error)
	Get(ctx context.Context, r gang.Ref) (any, error)
	Drop(ctx context.Context, r gang.Ref) error
}

func (o *gangObject) place() place {
	if o.start != nil {
		return o.start
	}
	return o.worker
}

func (o *gangObject) leave() {
	if o.start != nil {
		_ = o.start.Stop(context.Background())
		return
	}
	_ = o.worker.Close()
}

// seen keeps who is to blame for an error.
func (o *gangObject) seen(err error) error {
	var f *collective.Fault
	var c *gang.CallError
	switch {
	case errors.As(err, &c):
		f = &collective.Fault{Cause: "failed", Ranks: []int{c.Rank}}
	case !errors.As(err, &f):
		return err
	}
	o.mu.Lock()
	o.fault = f
	o.mu.Unlock()
	return err
}

// longGang runs a call that can take long on a place.
func longGang(name string, h, t C.uintptr_t, prepare func(o *gangObject) (work, error)) C.int32_t {
	return long(name, t, func(k *keeper) (work, error) {
		o, err := kept[*gangObject](k, "gang", h)
		if err != nil {
			return nil, err
		}
		body, err := prepare(o)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := body(ctx)
			return made, own(ctx, o.seen(err))
		}, nil
	})
}

func withGang(name string, h C.uintptr_t, body func(o *gangObject) error) C.int32_t {
	return call(name, func() error { return with("gang", h, body) })
}

// asWorker is the place of a worker.
func (o *gangObject) asWorker() (*gang.Worker, error) {
	if o.worker == nil {
		return nil, mismatch("gang is the start, not a worker")
	}
	return o.worker, nil
}

func (o *gangObject) asStart() (*gang.Gang, error) {
	if o.start == nil {
		return nil, mismatch("gang is a worker, not the start")
	}
	return o.start, nil
}

// block is n bytes of C's, which are 4 GiB at most.
func block(name string, p unsafe.Pointer, n C.int64_t) ([]byte, error) {
	if n < 0 || n > 1<<32 || n > 0 && p == nil {
		return nil, mismatch("%s has %d bytes, or is NULL: up to %d can be", name, int64(n), int64(1)<<32)
	}
	return append([]byte{}, unsafe.Slice((*byte)(p), int64(n))...), nil
}

// giveBlock hands bytes out.
func giveBlock(out **C.char, n *C.int64_t, b []byte) {
	*out, *n = (*C.char)(C.CBytes(b)), C.int64_t(len(b))
}

func reference(p *C.char) (gang.Ref, error) {
	s, err := text("ref", p)
	if err != nil {
		return gang.Ref{}, err
	}
	return gang.ParseRef(s)
}

func ranksOf(p *C.int64_t, n C.int64_t) ([]int, error) {
	k, err := count("ranks", p, n)
	if err != nil {
		return nil, err
	}
	ranks := make([]int, k)
	for i, r := range unsafe.Slice(p, k) {
		ranks[i] = int(r)
	}
	return ranks, nil
}

// encoded is the value of bytes with the name of their encoding.
func encoded(codec *C.char, p unsafe.Pointer, n C.int64_t) (any, error) {
	name, err := text("codec", codec)
	if err != nil {
		return nil, err
	}
	b, err := block("data", p, n)
	if err != nil || name == "bytes" {
		return b, err
	}
	return gang.Blob{Codec: name, Data: b}, nil
}

//export go_volley_gang_enter
func go_volley_gang_enter(invitation *C.char, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_gang_enter", t, func(*keeper) (work, error) {
		v, err := optional("invitation", invitation)
		if err != nil {
			return nil, err
		}
		if v == "" {
			v = os.Getenv(gang.Variable)
		}
		return func(ctx context.Context) (outcome, error) {
			if v == "" {
				_, err := gang.Enter(ctx) // which says what is missing
				return outcome{}, err
			}
			w, err := gang.EnterAs(ctx, v)
			if err != nil {
				return outcome{}, own(ctx, err)
			}
			o := &gangObject{worker: w, calls: map[int64]*gang.Call{}}
			return outcome{commit: func() { *out = register(o) }, discard: o.leave}, nil
		}, nil
	})
}

//export go_volley_gang_wait
func go_volley_gang_wait(h, t C.uintptr_t) C.int32_t {
	return longGang("volley_gang_wait", h, t, func(o *gangObject) (work, error) {
		w, err := o.asWorker()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			select {
			case <-w.Done():
				return outcome{}, nil
			case <-ctx.Done():
				return outcome{}, context.Cause(ctx)
			}
		}, nil
	})
}

//export go_volley_gang_send
func go_volley_gang_send(h C.uintptr_t, to, tag C.int64_t, p unsafe.Pointer, n C.int64_t, t C.uintptr_t) C.int32_t {
	return longGang("volley_gang_send", h, t, func(o *gangObject) (work, error) {
		b, err := block("data", p, n)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			return outcome{}, o.place().Send(ctx, int(to), uint64(tag), b)
		}, nil
	})
}

//export go_volley_gang_receive
func go_volley_gang_receive(h C.uintptr_t, from, tag C.int64_t, t C.uintptr_t, out **C.char, n *C.int64_t) C.int32_t {
	return longGang("volley_gang_receive", h, t, func(o *gangObject) (work, error) {
		return func(ctx context.Context) (outcome, error) {
			b, err := o.place().Recv(ctx, int(from), uint64(tag))
			return outcome{commit: func() { giveBlock(out, n, b) }}, err
		}, nil
	})
}

//export go_volley_gang_put
func go_volley_gang_put(h C.uintptr_t, name, codec *C.char, p unsafe.Pointer, n C.int64_t, out **C.char) C.int32_t {
	return withGang("volley_gang_put", h, func(o *gangObject) error {
		v, err := encoded(codec, p, n)
		if err != nil {
			return err
		}
		return o.put(name, v, out)
	})
}

//export go_volley_gang_put_table
func go_volley_gang_put_table(h C.uintptr_t, name *C.char, of C.uintptr_t, out **C.char) C.int32_t {
	return withGang("volley_gang_put_table", h, func(o *gangObject) error {
		return with("table", of, func(t *tableObject) error { return o.put(name, t.t, out) })
	})
}

func (o *gangObject) put(name *C.char, v any, out **C.char) error {
	s, err := text("name", name)
	if err != nil {
		return err
	}
	r, err := o.place().Put(context.Background(), s, v)
	if err != nil {
		return err
	}
	return giveText(out, r.String())
}

//export go_volley_gang_get
func go_volley_gang_get(h C.uintptr_t, ref *C.char, t C.uintptr_t, made *C.uintptr_t, codec, data **C.char, n *C.int64_t) C.int32_t {
	return longGang("volley_gang_get", h, t, func(o *gangObject) (work, error) {
		r, err := reference(ref)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			v, err := o.place().Get(ctx, r)
			if err != nil {
				return outcome{}, err
			}
			if t, ok := v.(*table.Table); ok {
				return outcome{commit: func() { *made = register(&tableObject{t}) }, discard: t.Release}, nil
			}
			b, err := blobOf(v)
			return outcome{commit: func() {
				*codec = C.CString(b.Codec)
				giveBlock(data, n, b.Data)
			}}, err
		}, nil
	})
}

//export go_volley_gang_redistribute
func go_volley_gang_redistribute(h C.uintptr_t, ref *C.char, p *C.int64_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return longGang("volley_gang_redistribute", h, t, func(o *gangObject) (work, error) {
		w, err := o.asWorker()
		if err != nil {
			return nil, err
		}
		r, err := reference(ref)
		if err != nil {
			return nil, err
		}
		ranks, err := ranksOf(p, n)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := w.Redistribute(ctx, r, ranks...)
			if err != nil {
				return outcome{}, err
			}
			return outcome{commit: func() { *out = register(&tableObject{made}) }, discard: made.Release}, nil
		}, nil
	})
}

//export go_volley_gang_drop
func go_volley_gang_drop(h C.uintptr_t, ref *C.char, t C.uintptr_t) C.int32_t {
	return longGang("volley_gang_drop", h, t, func(o *gangObject) (work, error) {
		r, err := reference(ref)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) { return outcome{}, o.place().Drop(ctx, r) }, nil
	})
}

//export go_volley_gang_fault
func go_volley_gang_fault(h C.uintptr_t, ranks *C.int64_t, capacity C.int64_t, cause **C.char, n *C.int64_t) C.int32_t {
	return withGang("volley_gang_fault", h, func(o *gangObject) error {
		o.mu.Lock()
		f := o.fault
		o.mu.Unlock()
		return giveFault(f, ranks, capacity, cause, n)
	})
}

//export go_volley_gang_free
func go_volley_gang_free(h C.uintptr_t) C.int32_t {
	if o, err := find[*gangObject]("gang", h); err == nil {
		o.leave()
	}
	return free[*gangObject]("volley_gang_free", h)
}
