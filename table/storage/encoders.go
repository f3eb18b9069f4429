package storage

import (
	"context"
	"sync"

	"github.com/volley-go/volley/internal/processors"
)

// encoders makes the pieces of a file on all processors and hands them on in the
// order in which they were asked for: what is written does not depend on how
// many there are. It is used by one goroutine.
type encoders[T any] struct {
	ctx    context.Context
	cancel context.CancelFunc
	path   string
	take   func(T) error // a piece, in order
	slots  chan struct{}
	queue  []*encoded[T]
	group  sync.WaitGroup
}

// encoded is a piece that is made, or being made.
type encoded[T any] struct {
	done  chan struct{}
	piece T
	err   error
}

func newEncoders[T any](ctx context.Context, path string, take func(T) error) *encoders[T] {
	e := &encoders[T]{path: path, take: take, slots: make(chan struct{}, processors.Count())}
	e.ctx, e.cancel = context.WithCancel(ctx)
	return e
}

// add has a piece made, and hands on those that are due where many wait. drop
// gives back what the piece is made of, whether it is or not.
func (e *encoders[T]) add(encode func(ctx context.Context) (T, error), drop func()) error {
	for len(e.queue) > 2*cap(e.slots) {
		if err := e.next(); err != nil {
			drop()
			return err
		}
	}
	p := &encoded[T]{done: make(chan struct{})}
	e.queue = append(e.queue, p)
	e.group.Add(1)
	go func() {
		defer e.group.Done()
		defer close(p.done)
		defer drop()
		defer guardWrite(e.path, &p.err)
		select {
		case e.slots <- struct{}{}:
			defer func() { <-e.slots }()
		case <-e.ctx.Done():
		}
		if p.err = canceled(e.ctx, e.path); p.err == nil {
			p.piece, p.err = encode(e.ctx)
		}
	}()
	return nil
}

// next hands on the first piece.
func (e *encoders[T]) next() error {
	p := e.queue[0]
	<-p.done
	e.queue = e.queue[1:]
	if p.err != nil {
		return p.err
	}
	return e.take(p.piece)
}

// finish hands on all pieces.
func (e *encoders[T]) finish() error {
	for len(e.queue) > 0 {
		if err := e.next(); err != nil {
			return err
		}
	}
	return nil
}

// stop ends what still runs, and waits for it.
func (e *encoders[T]) stop() {
	e.cancel()
	e.group.Wait()
}
