package mpi

import (
	"github.com/volley-go/volley/collective/transport"
)

// Post queues a message and sends what the lane's window has room for.
func (e *endpoint) Post(to int, h *transport.Header, payload []byte) error {
	l := &e.lanes[to]
	for wait := (pauses{}); ; wait.next() {
		e.s.mu.Lock()
		err := e.open(to)
		room := len(l.queue) < depth
		if err == nil && room {
			l.queue = append(l.queue, message{header: *h, payload: payload})
		}
		e.pump()
		e.s.mu.Unlock()
		if err != nil || room {
			return err
		}
	}
}

// open is the error of a lane on which nothing passes. The lock is held.
func (e *endpoint) open(to int) error {
	if err := e.stop.Err(); err != nil {
		return err
	}
	if err := e.lanes[to].gone; err != nil {
		return &Lost{to, err}
	}
	return nil
}

// Flush waits until all that was posted is in buffers of the transport.
func (e *endpoint) Flush(to int) error {
	l := &e.lanes[to]
	for wait := (pauses{}); ; wait.next() {
		e.s.mu.Lock()
		e.pump()
		err, rest := e.stop.Err(), len(l.queue)
		if err == nil && rest > 0 {
			err = e.open(to)
		}
		e.s.mu.Unlock()
		if err != nil || rest == 0 {
			return err
		}
	}
}

// pump sends on all lanes what has room, and says whether something is under way. The
// lock is held.
func (e *endpoint) pump() bool {
	busy := false
	for i := range e.lanes {
		l := &e.lanes[i]
		if len(l.flying) == 0 && len(l.queue) == 0 {
			continue
		}
		if err := e.s.push(l); err != nil {
			e.s.lost(l.peer, err)
			e.lose(i, err)
		}
		busy = busy || len(l.flying) > 0 || len(l.queue) > 0
	}
	return busy
}

// push sends on one lane.
func (s *site) push(l *lane) error {
	left := l.flying[:0]
	var failed error
	for _, f := range l.flying {
		done, err := s.d.finished(&f.request)
		switch {
		case err != nil:
			failed = err // MPI has done with it; its buffer is the collector's
		case done:
			s.pool.put(f.buf)
		default:
			left = append(left, f)
		}
	}
	clear(l.flying[len(left):])
	l.flying = left
	if failed != nil {
		return failed
	}
	for len(l.queue) > 0 && len(l.flying) < window {
		m := &l.queue[0]
		n := min(int64(len(m.payload))-m.sent, segmentLen)
		f := &flight{buf: s.pool.get(frameLen + int(n)), peer: l.peer}
		putFrame(f.buf.b, &m.header, m.sent)
		copy(f.buf.b[frameLen:], m.payload[m.sent:m.sent+n])
		var err error
		if f.request, err = s.d.send(s.comm, f.buf.b, l.peer, l.tag, true); err != nil {
			return err
		}
		l.flying = append(l.flying, f)
		if m.sent += n; m.sent == int64(len(m.payload)) {
			l.queue[0] = message{}
			l.queue = l.queue[1:]
		}
	}
	return nil
}

// Recv takes the segments of the next message.
func (e *endpoint) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	l := &e.lanes[from]
	for off := int64(0); ; {
		buf, err := e.segment(from)
		if err != nil {
			return err
		}
		got, at, payload, err := frame(buf.b)
		if err == nil && l.skip > 0 {
			l.skip -= int64(len(payload))
			e.free(buf)
			continue
		}
		if err == nil && at != off {
			err = errFrame
		}
		if err == nil {
			if err = transport.Check(from, want, &got); err != nil {
				l.skip = got.Len - off - int64(len(payload))
			}
		}
		if err != nil {
			e.free(buf)
			return err
		}
		switch {
		case sink.Combine == nil:
			copy(sink.Into[off:], payload)
		case len(payload) > 0:
			sink.Combine(int(off), payload)
		}
		off += int64(len(payload))
		e.free(buf)
		if off == want.Len {
			want.Sum = got.Sum
			return nil
		}
	}
}

// segment waits for the next one of a lane.
func (e *endpoint) segment(from int) (*buffer, error) {
	l := &e.lanes[from]
	var f *flight
	for wait := (pauses{}); ; wait.next() {
		e.s.mu.Lock()
		buf, err := e.look(from, l, &f)
		e.s.mu.Unlock()
		if buf != nil || err != nil {
			return buf, err
		}
	}
}

// look goes on with receiving: finds a message, then waits for its bytes in f. The lock
// is held.
func (e *endpoint) look(from int, l *lane, f **flight) (*buffer, error) {
	s := e.s
	if err := e.stop.Err(); err != nil {
		if *f != nil {
			s.flights = append(s.flights, *f)
		}
		return nil, err
	}
	if *f == nil {
		gone := l.gone // before the look: what was sent is there by then
		m, n, ok, err := s.d.probe(s.comm, l.peer, e.tag)
		if err == nil && ok {
			*f = &flight{buf: s.pool.get(n), peer: -1}
			(*f).request, err = s.d.receive(m, (*f).buf.b)
		}
		switch {
		case err != nil:
			s.lost(l.peer, err)
			return nil, &Lost{from, err}
		case !ok && gone != nil:
			return nil, &Lost{from, gone}
		}
	}
	if *f != nil {
		done, err := s.d.finished(&(*f).request)
		if err != nil {
			s.lost(l.peer, err)
			return nil, &Lost{from, err}
		}
		if done {
			return (*f).buf, nil
		}
	}
	e.pump()
	return nil, nil
}

func (e *endpoint) free(b *buffer) {
	e.s.mu.Lock()
	e.s.pool.put(b)
	e.s.mu.Unlock()
}
