package main

// #include "base.h"
import "C"

import (
	"context"
	"time"
	"unsafe"

	"github.com/volley-go/volley/device"
)

// watcher is a function of C that is told of the progress of calls.
type watcher struct {
	interval time.Duration
	f        unsafe.Pointer
	context  C.uintptr_t
}

// watch tells the watcher of a call from time to time until end is called, which tells it once more and returns when it is done. cancel is called
// when the watcher wants no more.
func (w *watcher) watch(ctx context.Context, cancel func()) (_ context.Context, end func()) {
	p := &device.Progress{}
	began := time.Now()
	over, told := make(chan struct{}), make(chan struct{})
	tell := func() bool {
		done := (*C.volley_progress)(C.calloc(1, C.sizeof_volley_progress))
		if done == nil {
			return true
		}
		defer C.free(unsafe.Pointer(done))
		read, total, made := p.Rows()
		*done = C.volley_progress{size: C.sizeof_volley_progress, read: C.int64_t(read), total: C.int64_t(total), made: C.int64_t(made),
			seconds: C.double(time.Since(began).Seconds())}
		return C.vly_call_progress(w.f, w.context, done) == 0
	}
	go func() {
		defer close(told)
		ticker := time.NewTicker(w.interval)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				tell() // what it answers comes too late
				return
			case <-ticker.C:
				if !tell() {
					cancel()
				}
			}
		}
	}()
	return device.WithProgress(ctx, p), func() {
		close(over)
		<-told
	}
}

//export go_volley_token_progress
func go_volley_token_progress(h C.uintptr_t, interval C.int64_t, f unsafe.Pointer, given C.uintptr_t) C.int32_t {
	return call("volley_token_progress", func() error {
		if f != nil && (interval < 1 || interval > 1<<31) {
			return mismatch("an interval of %d ms", int64(interval))
		}
		return with("token", h, func(t *token) error {
			if f == nil {
				t.watcher.Store(nil)
				return nil
			}
			t.watcher.Store(&watcher{time.Duration(interval) * time.Millisecond, f, given})
			return nil
		})
	})
}
