package main

// #include "base.h"
import "C"

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/dataloader"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// batchStream is a stream of record batches that a loader reads, and what begins it anew.
type batchStream struct {
	unmanaged
	open    unsafe.Pointer // nil where the stream comes once
	given   C.uintptr_t
	head    streamHead
	adopted bool // a loader has it, and closes it

	mu    sync.Mutex
	first *givenStream // was begun, and nobody reads it yet
}

func (*batchStream) kind() string { return "stream" }

// take is the stream that was begun and that nobody reads yet, nil where there is none.
func (s *batchStream) take() *givenStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.first
	s.first = nil
	return own
}

// close releases the stream that nobody has read. Whoever reads one releases it.
func (s *batchStream) close() {
	if own := s.take(); own != nil {
		own.drop()
	}
}

// drop ends the call that the stream was given to.
func (s *batchStream) drop() {
	if !s.adopted {
		s.close()
	}
}

// begin is a stream at its beginning.
func (s *batchStream) begin() (*givenStream, error) {
	if own := s.take(); own != nil {
		return own, nil
	}
	if s.open == nil {
		return nil, mismatch("the stream was read: it cannot be begun anew")
	}
	fresh := (*C.struct_ArrowArrayStream)(C.calloc(1, C.sizeof_struct_ArrowArrayStream))
	if fresh == nil {
		return nil, device.Errorf(device.ErrOutOfMemory, "", "calloc", "a stream")
	}
	defer C.free(unsafe.Pointer(fresh))
	room := new(said)
	if err := ofStatus(C.vly_call_open(s.open, s.given, fresh, &room[0], bodySaid), room); err != nil {
		return nil, fmt.Errorf("beginning the stream anew: %w", err)
	}
	p, err := moveStream(fresh)
	if err != nil {
		return nil, fmt.Errorf("beginning the stream anew: %w", err)
	}
	own := &givenStream{p: p}
	now, err := hostArrays(p, C.VOLLEY_VALIDATE_CHEAP).head()
	if err == nil && !sameColumns(now.schema, s.head.schema) {
		err = mismatch("the stream was begun anew with other columns: %v, before: %v", now.schema, s.head.schema)
	}
	if err != nil {
		own.drop()
		return nil, err
	}
	return own, nil
}

// sameColumns reports whether two schemas have the same names and types.
func sameColumns(a, b *arrow.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(x, y arrow.Field) bool { return x.Name == y.Name && arrow.TypeEqual(x.Type, y.Type) })
}

// pulledBatch is what one call of a stream gave.
type pulledBatch struct {
	batch *table.Batch
	err   error
}

func pullBatch(ctx context.Context, from arrays, head streamHead) (p pulledBatch) {
	defer func() {
		if fault := recover(); fault != nil {
			p = pulledBatch{err: fmt.Errorf("panicked: %v", fault)}
		}
	}()
	p.batch, p.err = from.batch(ctx, head)
	return p
}

// batches reads the stream from its beginning. It is released where the reading ends, whoever ends it.
func (s *batchStream) batches(ctx context.Context) iter.Seq2[*table.Batch, error] {
	return func(yield func(*table.Batch, error) bool) {
		own, err := s.begin()
		if err != nil {
			yield(nil, err)
			return
		}
		from, left := hostArrays(own.p, C.VOLLEY_VALIDATE_CHEAP), false
		defer func() {
			if !left {
				own.drop()
			}
		}()
		for n := 0; ; n++ {
			done := make(chan pulledBatch, 1)
			go func() { done <- pullBatch(ctx, from, s.head) }()
			one, err := awaited(ctx, done)
			if left = err != nil; left { // the stream goes when the call of it that runs has ended
				go func() {
					(<-done).batch.Release()
					own.drop()
				}()
			} else {
				err = one.err
			}
			if err != nil {
				yield(nil, fmt.Errorf("batch %d of the stream: %w", n, err))
				return
			}
			if one.batch == nil || !yield(one.batch, nil) {
				return
			}
		}
	}
}

// streamed are the options of a loader over a stream, which says how often it can be read.
func (p *loaderPlan) streamed(once bool) error {
	switch {
	case p.take:
		return mismatch("take is of a table, and not of a stream")
	case p.options.Shuffle:
		return mismatch("a stream is shuffled by blocks+buffer, and not by rows")
	case p.weights+p.stratify+p.groups != "":
		return mismatch("weights, stratify, group: their column is read beforehand, and a stream goes by once")
	case once && p.options.Epochs > 1:
		return mismatch("%d epochs of a stream that cannot be begun anew: give open", p.options.Epochs)
	case once:
		p.options.Epochs = 1
	}
	return nil
}

//export go_volley_loader_open_batches
func go_volley_loader_open_batches(stream *C.struct_ArrowArrayStream, o *C.volley_batches_options, p *C.volley_loader_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_loader_open_batches", t, func(k *keeper) (work, error) {
		own, err := moveStream(stream)
		if err != nil {
			return nil, err
		}
		given := &batchStream{first: &givenStream{p: own}}
		k.objects = append(k.objects, given)
		if o == nil {
			return nil, mismatch("batches is NULL: rows must be set")
		}
		c, err := options("batches", o)
		if err != nil {
			return nil, err
		}
		given.open, given.given = unsafe.Pointer(c.open), C.uintptr_t(uintptr(c.context))
		plan, err := loaderOptions(p)
		if err == nil {
			err = plan.streamed(c.open == nil)
		}
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			s, err := given.source(c)
			if err != nil {
				return outcome{}, err
			}
			given.adopted = true
			made, err := plan.open(ctx, &loaderObject{given: given}, s, nil)
			return loaderOutcome(out, made, err)
		}, nil
	})
}

// source asks the stream for its schema.
func (s *batchStream) source(c *C.volley_batches_options) (dataloader.Source, error) {
	b, err := host()
	if err != nil {
		return nil, err
	}
	if s.head, err = hostArrays(s.first.p, C.VOLLEY_VALIDATE_CHEAP).head(); err != nil {
		return nil, err
	}
	print32 := uint32(c.fingerprint) ^ uint32(c.fingerprint>>32)
	return dataloader.FromBatches(b, s.head.schema, int64(c.rows), s.batches, dataloader.StreamOptions{
		Piece: int64(c.piece), Cache: int64(c.cache), Fingerprint: print32, Once: s.open == nil,
	})
}
