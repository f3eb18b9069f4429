package main

// #include "base.h"
import "C"

import (
	"context"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// queue is a stream of a device. It is closed when nothing refers to it any more: neither its handle, nor a device that is seen through it,
// nor what its work made.
type queue struct {
	b    *kernels.Backend
	s    device.Stream
	refs atomic.Int64
}

func newQueue(b *kernels.Backend) (*queue, error) {
	s, err := b.NewStream()
	if err != nil {
		return nil, err
	}
	q := &queue{b: b, s: s}
	q.refs.Store(1)
	return q, nil
}

func (q *queue) hold() {
	if q != nil {
		q.refs.Add(1)
	}
}

// drop closes the stream with the last reference, in a goroutine, since that waits for the stream's work. Its failure belongs to what the work
// made: whoever waits for that gets it.
func (q *queue) drop() {
	if q != nil && q.refs.Add(-1) == 0 {
		go func() { _ = q.s.Close() }()
	}
}

func (*queue) kind() string { return "stream" }

// moment is the point of a stream where what its work made is there.
type moment struct {
	q    *queue
	e    device.Event
	refs atomic.Int64
}

// mark is the present end of the stream's work.
func (q *queue) mark() (*moment, error) {
	e, err := q.b.Device.NewEvent()
	if err != nil {
		return nil, err
	}
	if err := q.s.Record(e); err != nil {
		_ = e.Close()
		return nil, err
	}
	q.hold()
	m := &moment{q: q, e: e}
	m.refs.Store(1)
	return m, nil
}

func (m *moment) hold() {
	if m != nil {
		m.refs.Add(1)
	}
}

func (m *moment) drop() {
	if m != nil && m.refs.Add(-1) == 0 {
		_ = m.e.Close() // of an event that is only given back
		m.q.drop()
	}
}

// before makes later work of a stream wait for the moment.
func (m *moment) before(s device.Stream) error {
	if m == nil || m.q.s == s {
		return nil
	}
	return s.WaitEvent(m.e)
}

// wait waits for the moment.
func (m *moment) wait(ctx context.Context) error {
	if m == nil {
		return nil
	}
	return m.e.Wait(ctx)
}

// eventObject is an event that a program records.
type eventObject struct {
	unmanaged
	b *kernels.Backend
	e device.Event
}

func (*eventObject) kind() string { return "event" }

//export go_volley_stream_new
func go_volley_stream_new(d C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return call("volley_stream_new", func() error {
		b, err := backend(d)
		if err != nil {
			return err
		}
		q, err := newQueue(b)
		if err != nil {
			return err
		}
		*out = register(q)
		return nil
	})
}

//export go_volley_stream_device
func go_volley_stream_device(h C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return call("volley_stream_device", func() error {
		return with("stream", h, func(q *queue) error {
			q.hold()
			*out = register(&deviceObject{b: q.b, q: q})
			return nil
		})
	})
}

//export go_volley_stream_wait
func go_volley_stream_wait(h, t C.uintptr_t) C.int32_t {
	return long("volley_stream_wait", t, func(k *keeper) (work, error) {
		q, err := kept[*queue](k, "stream", h)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) { return outcome{}, q.s.Wait(ctx) }, nil
	})
}

// withEvent runs a call on a stream and an event.
func withEvent(name string, h, e C.uintptr_t, body func(s device.Stream, e device.Event) error) C.int32_t {
	return call(name, func() error {
		return with("stream", h, func(q *queue) error {
			return with("event", e, func(o *eventObject) error { return body(q.s, o.e) })
		})
	})
}

//export go_volley_stream_record
func go_volley_stream_record(h, e C.uintptr_t) C.int32_t {
	return withEvent("volley_stream_record", h, e, device.Stream.Record)
}

//export go_volley_stream_wait_event
func go_volley_stream_wait_event(h, e C.uintptr_t) C.int32_t {
	return withEvent("volley_stream_wait_event", h, e, device.Stream.WaitEvent)
}

//export go_volley_stream_free
func go_volley_stream_free(h C.uintptr_t) C.int32_t { return free[*queue]("volley_stream_free", h) }

//export go_volley_event_new
func go_volley_event_new(d C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return call("volley_event_new", func() error {
		b, err := backend(d)
		if err != nil {
			return err
		}
		e, err := b.Device.NewEvent()
		if err != nil {
			return err
		}
		*out = register(&eventObject{b: b, e: e})
		return nil
	})
}

//export go_volley_event_done
func go_volley_event_done(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return call("volley_event_done", func() error {
		return with("event", h, func(o *eventObject) error {
			done, err := o.e.Done()
			if done {
				*out = 1
			}
			return err
		})
	})
}

//export go_volley_event_wait
func go_volley_event_wait(h, t C.uintptr_t) C.int32_t {
	return long("volley_event_wait", t, func(k *keeper) (work, error) {
		o, err := kept[*eventObject](k, "event", h)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) { return outcome{}, o.e.Wait(ctx) }, nil
	})
}

//export go_volley_event_elapsed
func go_volley_event_elapsed(start, end C.uintptr_t, out *C.double) C.int32_t {
	return call("volley_event_elapsed", func() error {
		return with("start", start, func(first *eventObject) error {
			return with("end", end, func(last *eventObject) error {
				d, err := last.e.Since(first.e)
				*out = C.double(d.Seconds())
				return err
			})
		})
	})
}

//export go_volley_event_free
func go_volley_event_free(h C.uintptr_t) C.int32_t {
	if o, err := find[*eventObject]("event", h); err == nil {
		defer func() { _ = o.e.Close() }() // the work that it marked goes on
	}
	return free[*eventObject]("volley_event_free", h)
}
