package main

// #include "base.h"
import "C"

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
)

// outcome is what a long call made: commit hands it out, discard drops it. Either may be nil.
type outcome struct{ commit, discard func() }

func (o outcome) drop() {
	if o.discard != nil {
		o.discard()
	}
}

// ended is a call that has come to its end.
type ended struct {
	name string
	made outcome
	err  error
}

// deliver hands the outcome out and gives the status, on the thread that asks.
func (e ended) deliver() C.int32_t {
	return call(e.name, func() error {
		if e.err == nil && e.made.commit != nil {
			e.made.commit()
		}
		return e.err
	})
}

// token makes a long call stoppable. pending is where the end of a call that goes on in the background comes, nil while there is none.
type token struct {
	unmanaged
	ctx      context.Context
	cancel   context.CancelFunc
	patience time.Duration
	watcher  atomic.Pointer[watcher]
	mu       sync.Mutex
	pending  chan ended
}

func (*token) kind() string { return "token" }

// work is the part of a long call that goes on in the background where a token has patience. It reads nothing that C's arguments point at.
type work func(ctx context.Context) (outcome, error)

// keeper holds references to what a call works on until it has ended.
type keeper struct {
	objects []object
	// together says that other ranks wait for this call: it begins also under a token that is cancelled already, so that they hear of it.
	together bool
}

func (k *keeper) drop() { dropAll(k.objects) }

// kept finds an object and keeps it.
func kept[T object](k *keeper, name string, h C.uintptr_t) (T, error) {
	o, err := find[T](name, h)
	if err == nil {
		k.objects = append(k.objects, o)
	}
	return o, err
}

// keptAll finds n objects and keeps them.
func keptAll[T object](k *keeper, name string, p *C.uintptr_t, n C.int64_t) ([]T, error) {
	all, err := findAll[T](name, p, n)
	for _, o := range all {
		k.objects = append(k.objects, o)
	}
	return all, err
}

// long runs an entry point that can take long: prepare reads the arguments, and what it returns does the work, under the token if there is one.
func long(name string, h C.uintptr_t, prepare func(k *keeper) (work, error)) C.int32_t {
	k := &keeper{}
	var t *token
	var body work
	status := call(name, func() (err error) {
		if h != 0 {
			if t, err = find[*token]("token", h); err != nil {
				return err
			}
		}
		body, err = prepare(k)
		return err
	})
	if status != C.VOLLEY_OK {
		k.drop()
		return status
	}
	if t == nil {
		return finish(name, nil, k, body).deliver()
	}
	if t.patience == 0 {
		return finish(name, t, k, body).deliver()
	}
	if !t.mu.TryLock() {
		k.drop()
		return failed(name, mismatch("the token is in a call of another thread: a token with patience has one call at a time"))
	}
	defer t.mu.Unlock()
	if t.pending != nil {
		k.drop()
		return failed(name, mismatch("the token has a call that is pending: volley_token_wait gives its end"))
	}
	end := make(chan ended, 1)
	t.pending = end
	go func() { end <- finish(name, t, k, body) }()
	return t.wait()
}

// finish runs the body under the token, if there is one, to its end, also where that is a panic.
func finish(name string, t *token, k *keeper, body work) (e ended) {
	e.name = name
	ctx := context.Background()
	if t != nil {
		ctx = t.ctx
		if w := t.watcher.Load(); w != nil {
			var end func()
			ctx, end = w.watch(ctx, t.cancel)
			defer end()
		}
	}
	defer k.drop()
	defer func() {
		if p := recover(); p != nil {
			e = ended{name: name, err: panicked(p)}
		}
	}()
	if !k.together {
		e.err = device.Canceled(ctx, "", "start")
	}
	if e.err == nil {
		e.made, e.err = body(ctx)
	}
	return e
}

// wait waits for the pending call as long as the patience lasts. The caller holds mu.
func (t *token) wait() C.int32_t {
	timer := time.NewTimer(t.patience)
	defer timer.Stop()
	select {
	case e := <-t.pending:
		t.pending = nil
		return e.deliver()
	case <-timer.C:
		return C.VOLLEY_PENDING
	}
}

//export go_volley_token_new
func go_volley_token_new(patience C.int64_t, out *C.uintptr_t) C.int32_t {
	return call("volley_token_new", func() error {
		if patience < 0 || patience > 1<<31 {
			return mismatch("a patience of %d ms", int64(patience))
		}
		ctx, cancel := context.WithCancel(context.Background())
		*out = register(&token{ctx: ctx, cancel: cancel, patience: time.Duration(patience) * time.Millisecond})
		return nil
	})
}

//export go_volley_token_cancel
func go_volley_token_cancel(h C.uintptr_t) C.int32_t {
	return call("volley_token_cancel", func() error {
		return with("token", h, func(t *token) error {
			t.cancel()
			return nil
		})
	})
}

//export go_volley_token_wait
func go_volley_token_wait(h C.uintptr_t) C.int32_t {
	t, err := find[*token]("token", h)
	if err != nil {
		return failed("volley_token_wait", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending == nil {
		return failed("volley_token_wait", mismatch("no call of the token is pending"))
	}
	return t.wait()
}

//export go_volley_token_free
func go_volley_token_free(h C.uintptr_t) C.int32_t {
	if t, err := find[*token]("token", h); err == nil {
		t.cancel()
		t.mu.Lock()
		pending := t.pending
		t.pending = nil
		t.mu.Unlock()
		if pending != nil {
			go func() { (<-pending).made.drop() }()
		}
	}
	return free[*token]("volley_token_free", h)
}
