package tcp

import (
	"errors"
	"fmt"

	"github.com/volley-go/volley/collective/transport"
)

func (e *endpoint) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	if err := e.stop.Err(); err != nil {
		return err
	}
	p, err := e.peer(from)
	if err != nil {
		return err
	}
	if err := p.lost.Err(); err != nil && err != transport.ErrLeft {
		return &Lost{from, err}
	}
	if sink.Combine == nil && int64(len(sink.Into)) != want.Len {
		return fmt.Errorf("message of %d bytes from rank %d into %d bytes", want.Len, from, len(sink.Into))
	}
	if p.skip != nil { // the message that the last call did not want
		first := *p.skip
		p.skip = nil
		if err := e.take(p, &first.head, &first, &transport.Sink{Combine: func(int, []byte) {}}); err != nil {
			return err
		}
	}
	var first frame
	if err := p.data[0].in.next(&first); err != nil {
		return e.received(p, want, &first, err)
	}
	if first.kind != data || first.off != 0 {
		return e.received(p, want, &first, fmt.Errorf("%w: no message begins here", errFrame))
	}
	if err := transport.Check(from, want, &first.head); err != nil {
		p.skip = &first
		return err
	}
	want.Sum = first.head.Sum
	return e.take(p, want, &first, sink)
}

// take reads the message that begins with the frame first, whose header is read.
func (e *endpoint) take(p *peer, want *transport.Header, first *frame, sink *transport.Sink) error {
	f := *first
	for i := 0; ; i++ {
		in := &p.data[i%len(p.data)].in
		if i > 0 {
			off := f.off + int64(f.size)
			if err := in.next(&f); err != nil {
				return e.received(p, want, &f, err)
			}
			if f.kind != data || f.head != first.head || f.off != off {
				return e.received(p, want, &f, fmt.Errorf("%w: the next segment is missing", errFrame))
			}
		}
		part := sink.Into
		if sink.Combine != nil {
			part = e.room()[:f.size]
		} else {
			part = part[f.off : f.off+int64(f.size)]
		}
		if err := in.payload(&f, part); err != nil {
			return e.received(p, want, &f, err)
		}
		if sink.Combine != nil && f.size > 0 {
			sink.Combine(int(f.off), part)
		}
		if f.off+int64(f.size) == want.Len {
			return nil
		}
	}
}

// received is the error of a message that could not be taken: bytes that are not what
// the peer should have sent end the connection.
func (e *endpoint) received(p *peer, want *transport.Header, got *frame, err error) error {
	if !errors.Is(err, errFrame) {
		return e.why(p, err)
	}
	p.lose(err)
	var order *orderError
	if errors.As(err, &order) {
		return fmt.Errorf("%w: %w", err, &transport.Mismatch{From: p.rank, Want: *want, Got: got.head})
	}
	return fmt.Errorf("%w: %w", err, &transport.Corrupt{From: p.rank, Got: *want})
}
