package dataloader

import (
	"context"

	"github.com/volley-go/volley/device"
)

// finisher is a Reader whose rows may not be over when those that it announced are.
type finisher interface {
	// finish is an error where there are more, once all rows of an epoch were read. It waits for the source's end.
	finish(ctx context.Context) error
	// finished reports whether finish would return without waiting.
	finished() bool
}

// nested is a Reader that works on what another one reads.
type nested interface{ beneath() any }

func (r *derivedReader) beneath() any { return r.Reader }
func (r *numberRows) beneath() any    { return r.Reader }
func (r *windowReader) beneath() any  { return r.stretches[0].reader }
func (r *mapReader) beneath() any     { return r.rowTables }

// finisherOf is the one in a Reader, nil where there is none.
func finisherOf(r any) finisher {
	for {
		switch of := r.(type) {
		case finisher:
			return of
		case nested:
			r = of.beneath()
		default:
			return nil
		}
	}
}

// finish asks the source of the pieces.
func (r *pieceReader) finish(ctx context.Context) error {
	if r.source == nil {
		return nil
	}
	return r.source.finish(ctx)
}

// finished is the source's.
func (r *pieceReader) finished() bool { return r.source == nil || r.source.finished() }

// finish waits for the stream in a goroutine, which a context that ends leaves to Close.
func (p *pull) finish(ctx context.Context) error {
	over := make(chan error, 1)
	go func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		over <- p.over()
	}()
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
		return device.Canceled(ctx, "", "dataloader.Next")
	}
}

// finished reports whether the stream is known to have ended, or was not read to the end of its announced rows.
func (p *pull) finished() bool {
	if !p.mu.TryLock() {
		return false
	}
	defer p.mu.Unlock()
	return p.looked || !p.wholly()
}

// wholly says that all announced rows of the stream were taken, and none was refused.
func (p *pull) wholly() bool {
	return p.next != nil && p.failed == nil && p.piece == len(p.stream.starts)-1
}

// over asks a stream that gave all its announced rows whether it has more. It is asked once, when its last rows are given out or
// before it begins anew, and not as soon as they are read: they do not wait for its end.
func (p *pull) over() error {
	if p.looked || !p.wholly() {
		return p.more
	}
	p.looked = true
	more := p.rest != nil
	for !more {
		b, err, ok := p.next()
		if err != nil {
			p.more = err
			return err
		}
		if !ok {
			return p.more
		}
		more = b.Len() > 0
		b.Release()
	}
	p.more = device.Errorf(device.ErrMismatch, "", "dataloader", "the stream has more rows than %d", p.stream.NumRows())
	return p.more
}
