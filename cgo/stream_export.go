package main

// #include "base.h"
import "C"

import (
	"context"
	"errors"
	"iter"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// streamObject is a stream that C reads.
type streamObject struct {
	unmanaged
	schema *arrow.Schema
	next   func() (*table.Batch, error) // the next batch in host memory, a reference of the caller's; nil after the last
	stop   func()
	mu     sync.Mutex
	failed error
	text   *C.char      // of the failure
	place  memory.Place // of a device stream
}

func (*streamObject) kind() string { return "stream" }

func (s *streamObject) drop() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	C.free(unsafe.Pointer(s.text))
	s.text = nil
}

// errno is the number that a stream's callback returns for an error.
func errno(err error) C.int {
	status, _ := statusOf(err)
	switch status {
	case C.VOLLEY_OUT_OF_MEMORY:
		return 12 // ENOMEM
	case C.VOLLEY_CANCELED:
		return 125 // ECANCELED
	case C.VOLLEY_UNSUPPORTED:
		return 95 // ENOTSUP
	case C.VOLLEY_MISMATCH, C.VOLLEY_VALUE, C.VOLLEY_FORMAT, C.VOLLEY_CLOSED:
		return 22 // EINVAL
	}
	return 5 // EIO
}

// answer runs a callback of a stream.
func answer(h C.uintptr_t, body func(s *streamObject) error) (n C.int) {
	s, err := find[*streamObject]("stream", h)
	if err != nil {
		return errno(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			s.failed = panicked(p)
		}
		if s.failed != nil {
			n = errno(s.failed)
		}
	}()
	if s.failed == nil {
		s.failed = body(s)
	}
	return 0
}

//export go_volley_stream_schema
func go_volley_stream_schema(h C.uintptr_t, out *C.struct_ArrowSchema) C.int {
	return answer(h, func(s *streamObject) error {
		exportSchema(s.schema, out)
		return nil
	})
}

//export go_volley_stream_next
func go_volley_stream_next(h C.uintptr_t, out *C.struct_ArrowArray) C.int {
	return answer(h, func(s *streamObject) error {
		b, err := s.next()
		if err != nil || b == nil {
			return err
		}
		defer b.Release()
		return exportBatch(b, out)
	})
}

//export go_volley_stream_error
func go_volley_stream_error(h C.uintptr_t) *C.char {
	s, err := find[*streamObject]("stream", h)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil && s.text == nil {
		s.text = C.CString(s.failed.Error())
	}
	return s.text
}

// publish fills a stream.
func publish(s *streamObject, out *C.struct_ArrowArrayStream) error {
	h := register(s)
	C.vly_fill_stream(out, h)
	if out.release == nil {
		go_volley_forget(h)
		return device.Errorf(device.ErrOutOfMemory, "", "calloc", "a stream")
	}
	return nil
}

// streamTable is a stream of the chunks of a host table; it takes over the caller's reference.
func streamTable(t *table.Table) *streamObject {
	chunks := t.Chunks()
	return &streamObject{schema: t.Schema(), stop: t.Release, next: func() (*table.Batch, error) {
		if len(chunks) == 0 {
			return nil, nil
		}
		b := chunks[0]
		chunks = chunks[1:]
		return b.Retain(), nil
	}}
}

// batchOrError is what a running query gives.
type batchOrError struct {
	b   *table.Batch
	err error
}

// streamQuery is a stream of what a query gives, which runs ahead by one batch. The schema is that of its first batch, so the stream begins with
// that; a query without a batch is collected for its schema.
func streamQuery(ctx context.Context, p *plan) (*streamObject, error) {
	q, err := p.placed()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	batches := make(chan batchOrError)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(batches)
		feed(ctx, q.Batches(ctx), batches)
	}()
	s := &streamObject{}
	var first *table.Batch
	s.stop = func() {
		cancel()
		<-done
		first.Release()
		p.drop()
	}
	s.next = func() (*table.Batch, error) {
		if b := first; b != nil {
			first = nil
			return b, nil
		}
		given, ok := <-batches
		if !ok {
			return nil, nil
		}
		return given.b, given.err
	}
	p.hold()
	b, err := s.next()
	if err == nil && b == nil {
		s.schema, err = schemaOf(ctx, q)
	} else if err == nil {
		first, s.schema = b, b.Schema()
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// schemaOf is the schema of a query that gives no rows.
func schemaOf(ctx context.Context, q *table.Query) (*arrow.Schema, error) {
	t, err := q.Collect(ctx)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	return t.Schema(), nil
}

// feed sends a query's batches, brought to the host, until the context ends.
func feed(ctx context.Context, all iter.Seq2[*table.Batch, error], to chan<- batchOrError) {
	defer func() {
		if p := recover(); p != nil {
			select {
			case to <- batchOrError{err: panicked(p)}:
			case <-ctx.Done():
			}
		}
	}()
	for b, err := range all {
		if err == nil {
			b, err = batchOnHost(ctx, b)
		}
		select {
		case to <- batchOrError{b, err}:
		case <-ctx.Done():
			b.Release()
			return
		}
		if err != nil {
			return
		}
	}
}

// batchOnHost is a batch in host memory, as a new reference.
func batchOnHost(ctx context.Context, b *table.Batch) (*table.Batch, error) {
	k, err := backendOf(b)
	if err != nil || k == nil {
		return b.Retain(), err
	}
	t, err := table.NewTable(k, b.Schema(), []*table.Batch{b.Retain()})
	if err != nil {
		return nil, err
	}
	defer t.Release()
	cpu, err := host()
	if err != nil {
		return nil, err
	}
	moved, err := t.To(ctx, cpu)
	if err != nil {
		return nil, err
	}
	defer moved.Release()
	if len(moved.Chunks()) != 1 {
		return nil, errors.New("a batch of no rows on a device")
	}
	return moved.Chunks()[0].Retain(), nil
}

// backendOf is the open device whose memory a batch is in, nil for the host's.
func backendOf(b *table.Batch) (*kernels.Backend, error) {
	for i := range b.NumColumns() {
		place := b.Column(i).Place()
		if place.HostAccessible() {
			continue
		}
		opened.Lock()
		defer opened.Unlock()
		for _, k := range opened.all {
			if k.Device.Place() == place {
				return k, nil
			}
		}
		return nil, device.Errorf(device.ErrMismatch, place.String(), "stream", "a batch of a device that is not open")
	}
	return nil, nil
}
