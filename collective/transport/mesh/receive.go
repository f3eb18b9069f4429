package mesh

import (
	"context"

	"github.com/volley-go/volley/collective/transport"
)

func (e *endpoint) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	if err := e.stop.Err(); err != nil {
		return err
	}
	l, err := e.peer(from)
	if err != nil {
		return err
	}
	a, err := e.next(l)
	if err != nil {
		return err
	}
	e.acknowledge(from, l)
	if err := transport.Check(from, want, &a.head); err != nil {
		if a.offered != 0 { // its sender waits for it to be asked for
			_ = e.pull(from, a.offered, make([]byte, a.head.Len)) // what becomes of it is of no interest
		}
		return err
	}
	want.Sum = a.head.Sum
	part := a.payload
	if a.offered != 0 {
		part = sink.Into
		if sink.Combine != nil {
			if int64(cap(e.room)) < want.Len {
				e.room = make([]byte, want.Len)
			}
			part = e.room[:want.Len]
		}
		if err := e.pull(from, a.offered, part); err != nil {
			return err
		}
	}
	switch {
	case sink.Combine == nil && a.offered == 0:
		copy(sink.Into, part)
	case sink.Combine != nil && len(part) > 0:
		sink.Combine(0, part)
	}
	return nil
}

// next takes the next message of a lane.
func (e *endpoint) next(l *lane) (arrival, error) {
	for {
		l.mu.Lock()
		if len(l.in) > 0 {
			a := l.in[0]
			l.in = l.in[1:]
			l.got++
			l.mu.Unlock()
			return a, nil
		}
		gone := l.left
		l.mu.Unlock()
		if gone != nil {
			return arrival{}, gone
		}
		select {
		case <-l.ready:
		case <-e.stop.Done():
			return arrival{}, e.stop.Err()
		}
	}
}

// acknowledge tells the sender from time to time how many were taken.
func (e *endpoint) acknowledge(from int, l *lane) {
	l.mu.Lock()
	got := l.got
	l.mu.Unlock()
	if got%tell != 0 {
		return
	}
	if w, err := e.node.beside(e.ranks[from]); err == nil {
		f := e.frame(ack, from)
		f.off = got
		_ = w.send(f, nil) // one that has gone sends no more
	}
}

// pull has a long payload come.
func (e *endpoint) pull(from int, number uint64, into []byte) error {
	ctx, done := context.WithCancel(e.node.ctx)
	defer done()
	go func() {
		select {
		case <-e.stop.Done():
			done()
		case <-ctx.Done():
		}
	}()
	err := e.node.pull(ctx, e.ranks[from], number, into)
	if stopped := e.stop.Err(); stopped != nil {
		return stopped
	}
	return left(err)
}
