package main

// #include "base.h"
import "C"

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/volley-go/volley/dataloader"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// readMap reads the function of each batch's table, if there is one.
func (p *loaderPlan) readMap(m *C.volley_batch_map) error {
	if m == nil {
		return nil
	}
	c, err := options("map", m)
	if err != nil {
		return err
	}
	made := &dataloader.BatchMap{MaxRows: int64(c.max_rows)}
	if made.Name, err = text("name of the map", c.name); err != nil {
		return err
	}
	if c.columns != nil {
		if made.Columns, err = texts("columns of the map", c.columns, c.columns_count); err != nil {
			return err
		}
	}
	if c._map == nil {
		return mismatch("map %q: its function is NULL", made.Name)
	}
	made.Do = mapBy(unsafe.Pointer(c._map), C.uintptr_t(uintptr(c.context)))
	if c.permanent != 0 {
		p.calls = new(mapCalls)
		made.Do = p.calls.apart(made.Do)
	}
	p.mapped = made
	return nil
}

// mapCalls are the calls of a function that nobody has to wait for. What such a call reads, and what that is made of, stays until it ends.
type mapCalls struct{ running sync.WaitGroup }

// canceledAfter is how often a call that runs looks whether it is canceled. It is left after twice that time more.
const canceledAfter = 20 * time.Millisecond

// apart has each call of a function run in a goroutine of its own, and leaves it when the context ends: then its result is dropped.
func (m *mapCalls) apart(do func(context.Context, *table.Table) (*table.Table, error)) func(context.Context, *table.Table) (*table.Table, error) {
	type result struct {
		made *table.Table
		err  error
	}
	return func(ctx context.Context, batch *table.Table) (*table.Table, error) {
		batch.Retain()
		done, left := make(chan result), make(chan struct{})
		m.running.Add(1)
		go func() {
			defer m.running.Done()
			defer batch.Release()
			made, err := safely(func() (*table.Table, error) { return do(context.WithoutCancel(ctx), batch) })
			select {
			case done <- result{made, err}:
			case <-left:
				made.Release()
			}
		}()
		r, err := awaited(ctx, done)
		if err != nil {
			close(left)
			return nil, err
		}
		return r.made, r.err
	}
}

// awaited is what a call of the program's gives, or an ErrCanceled where the context ends first and the call is no brief one. It looks at Err
// too: that alone says when a loader is closed which makes its batches in the caller.
func awaited[T any](ctx context.Context, done <-chan T) (r T, err error) {
	look := time.NewTicker(canceledAfter)
	defer look.Stop()
	for ctx.Err() == nil {
		select {
		case r = <-done:
			return r, nil
		case <-ctx.Done():
		case <-look.C:
		}
	}
	select {
	case r = <-done:
		return r, nil
	case <-time.After(2 * canceledAfter):
		return r, device.Canceled(ctx, "", "dataloader")
	}
}

// safely makes an error of a panic.
func safely(do func() (*table.Table, error)) (made *table.Table, err error) {
	defer func() {
		if p := recover(); p != nil {
			made, err = nil, fmt.Errorf("panicked: %v", p)
		}
	}()
	return do()
}

// after does something when no call runs any more: at once where that is so now.
func (m *mapCalls) after(do func() error) error {
	if m == nil {
		return do()
	}
	over := make(chan error, 1)
	go func() {
		m.running.Wait()
		over <- do()
	}()
	select {
	case err := <-over:
		return err
	case <-time.After(canceledAfter):
		return nil // it is done behind the call
	}
}

// mapBy calls a function of C with the stream of a table, for another.
func mapBy(f unsafe.Pointer, given C.uintptr_t) func(ctx context.Context, batch *table.Table) (*table.Table, error) {
	return func(ctx context.Context, batch *table.Table) (*table.Table, error) {
		streams := (*[2]C.struct_ArrowArrayStream)(C.calloc(2, C.sizeof_struct_ArrowArrayStream))
		if streams == nil {
			return nil, device.Errorf(device.ErrOutOfMemory, "", "calloc", "two streams")
		}
		defer C.free(unsafe.Pointer(streams))
		from := streamTable(batch.Retain())
		if err := publish(from, &streams[0]); err != nil {
			from.stop()
			return nil, err
		}
		defer func() {
			for i := range streams {
				if streams[i].release != nil {
					C.vly_call_release_stream(&streams[i])
				}
			}
		}()
		room := new(said)
		if err := ofStatus(C.vly_call_map(f, given, &streams[0], &streams[1], &room[0], bodySaid), room); err != nil {
			return nil, err
		}
		own, err := moveStream(&streams[1])
		if err != nil {
			return nil, fmt.Errorf("the result: %w", err)
		}
		result := &givenStream{p: own}
		defer result.drop()
		schema, batches, err := readStream(ctx, hostArrays(own, C.VOLLEY_VALIDATE_CHEAP))
		if err != nil {
			return nil, fmt.Errorf("the result: %w", err)
		}
		return table.NewTable(batch.Backend(), schema, batches)
	}
}
