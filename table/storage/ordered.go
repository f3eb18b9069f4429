package storage

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/table"
)

// ahead is how many batches a job may have made that nobody has taken yet. It
// holds a row group of two million rows, so that the workers behind the first
// one do not stand still while its rows are being taken.
const ahead = 32

// job makes the batches of one part of a scan, in order, and hands each to
// emit, which takes over the reference, also where it fails.
type job func(ctx context.Context, emit func(*table.Batch) error) error

// ordered is the table.BatchReader of all formats. Workers take jobs one after
// the other; Next gives the batches in the order of the jobs. At most two jobs
// for each worker are begun and not yet taken.
type ordered struct {
	path   string // for errors
	next   func(context.Context) (job, error)
	finish func() // once, after the last worker has ended

	ctx    context.Context
	cancel context.CancelFunc

	lock    sync.Mutex // of next, ended, and the order of lines
	ended   bool
	lines   chan *line
	workers sync.WaitGroup
	started bool

	current *line
	err     error
	closed  bool
}

// line is what one job makes. err is written before batches is closed.
type line struct {
	batches chan *table.Batch
	err     error
}

// newOrdered makes a reader of the jobs that next gives until io.EOF. next is
// called by one goroutine at a time. finish, if not nil, is called once, by
// Close.
func newOrdered(ctx context.Context, path string, next func(context.Context) (job, error), finish func()) *ordered {
	o := &ordered{path: path, next: next, finish: finish, lines: make(chan *line, processors.Count())}
	o.ctx, o.cancel = context.WithCancel(ctx)
	return o
}

// Next is the next batch in order, or io.EOF.
func (o *ordered) Next(ctx context.Context) (*table.Batch, error) {
	if o.err == nil && o.closed {
		o.err = &Error{Path: o.path, Kind: device.ErrClosed, Text: "read after Close"}
	}
	if o.err != nil {
		return nil, o.err
	}
	b, err := o.take(ctx)
	if err != nil {
		o.err = err
		o.cancel()
	}
	return b, err
}

func (o *ordered) take(ctx context.Context) (*table.Batch, error) {
	if !o.started {
		o.started = true
		for range processors.Count() {
			o.workers.Add(1)
			go func() {
				defer o.workers.Done()
				o.work()
			}()
		}
	}
	for {
		if err := canceled(ctx, o.path); err != nil {
			return nil, err
		}
		if o.current == nil {
			select {
			case l, ok := <-o.lines:
				if !ok {
					if err := canceled(o.ctx, o.path); err != nil {
						return nil, err
					}
					return nil, io.EOF
				}
				o.current = l
			case <-ctx.Done():
				continue
			}
		}
		select {
		case b, ok := <-o.current.batches:
			if ok {
				return b, nil
			}
			if o.current.err != nil {
				return nil, o.current.err
			}
			o.current = nil
		case <-ctx.Done():
		}
	}
}

// work takes jobs until there is none.
func (o *ordered) work() {
	for {
		j, l := o.begin()
		if l == nil {
			return
		}
		if j != nil {
			l.err = o.run(j, l)
		}
		close(l.batches)
	}
}

// begin takes the next job and puts its line behind those before. A nil line
// means that there is no more to do; a line without a job carries the error of
// next.
func (o *ordered) begin() (job, *line) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.ended {
		return nil, nil
	}
	j, err := o.pull()
	if errors.Is(err, io.EOF) {
		o.end()
		return nil, nil
	}
	l := &line{batches: make(chan *table.Batch, ahead), err: err}
	select {
	case o.lines <- l:
	case <-o.ctx.Done():
		o.end()
		return nil, nil
	}
	if err != nil {
		o.end()
		return nil, l
	}
	return j, l
}

func (o *ordered) end() {
	o.ended = true
	close(o.lines)
}

func (o *ordered) pull() (j job, err error) {
	defer guard(o.path, "", &err)
	if err := canceled(o.ctx, o.path); err != nil {
		return nil, err
	}
	return o.next(o.ctx)
}

func (o *ordered) run(j job, l *line) (err error) {
	defer guard(o.path, "", &err)
	return j(o.ctx, func(b *table.Batch) error {
		select {
		case l.batches <- b:
			return nil
		case <-o.ctx.Done():
			b.Release()
			return canceled(o.ctx, o.path)
		}
	})
}

// Close stops the workers, waits for them and releases what nobody took.
func (o *ordered) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	o.cancel()
	o.workers.Wait()
	drain := func(l *line) {
		for b := range l.batches {
			b.Release()
		}
	}
	if o.current != nil {
		drain(o.current)
	}
	if o.started {
		for l := range o.lines {
			drain(l)
		}
	}
	if o.finish != nil {
		o.finish()
	}
	return nil
}
