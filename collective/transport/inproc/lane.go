package inproc

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/volley-go/volley/collective/transport"
)

// depth is how many messages a lane holds.
const depth = 16

// A rank that waits looks again and again: first without giving way, where every
// rank may have a processor of its own, then giving way to the other goroutines
// between two looks, and sleeps at last.
const (
	busyLooks  = 2000 // about a microsecond
	yieldLooks = 256
)

// The states of a slot. The sender fills an empty one; the receiver takes a full
// one, reads the payload and empties it; a sender that is interrupted takes back
// what is not being read. A receiver that calls the user's code reads a part into
// memory of its own at a time, and rests between two parts: then it can be taken
// back from too. A reader that was interrupted in a merge leaves its slot broken.
const (
	empty uint32 = iota
	full
	taken
	resting
	revoked
	broken
)

// apart is how many bytes are read before the user's code is called.
const apart = 64 << 10

// errRevoked is a message whose sender took it back: the operation has failed there.
var errRevoked = errors.New("the sender took the message back")

type slot struct {
	state   atomic.Uint32
	header  transport.Header
	payload []byte
	result  []byte // where a merge's goes
}

// lane is one direction between two ranks: one writer, one reader.
type lane struct {
	slots [depth]slot
	// The writer's counts.
	posted, flushed uint64
	_               [64]byte
	read            uint64 // the reader's count
	_               [64]byte
	writer          sleeper
	reader          sleeper
	crowd           int // ranks of the group
	to              int // the reader's rank
	board           *board

	// The reader's:
	scratch []byte // of what is read apart
	// Of a message that is shared.
	payload, into []byte
	combine       func(off int, part []byte)
	move          func(from, to int) // moves a part of it, made once
}

// post puts a message into the next slot.
func (l *lane) post(h *transport.Header, payload []byte, stop *transport.Stop) error {
	s := &l.slots[l.posted%depth]
	if err := l.writer.wait(&s.state, empty, l, stop); err != nil {
		return err
	}
	s.header, s.payload = *h, payload
	s.state.Store(full)
	l.posted++
	l.reader.wake()
	return nil
}

// flush waits until nothing that was posted is read any more. When it is
// interrupted it takes back what nobody reads.
func (l *lane) flush(stop *transport.Stop) error {
	if err := stop.Err(); err != nil {
		l.revoke()
		return err
	}
	if l.posted-l.flushed > depth {
		l.flushed = l.posted - depth
	}
	for ; l.flushed < l.posted; l.flushed++ {
		s := &l.slots[l.flushed%depth]
		if err := l.writer.wait(&s.state, empty, l, stop); err != nil {
			l.revoke()
			return err
		}
	}
	return nil
}

func (l *lane) revoke() {
	for i := range l.slots {
		s := &l.slots[i]
		for !s.state.CompareAndSwap(full, empty) && !s.state.CompareAndSwap(resting, revoked) && s.state.Load() == taken {
			runtime.Gosched() // a copy, or a reduction of ours, that ends by itself
		}
	}
}

// receive takes the next message into the sink.
func (l *lane) receive(from int, want *transport.Header, sink *transport.Sink, stop *transport.Stop) error {
	s := &l.slots[l.read%depth]
	for {
		if err := l.reader.wait(&s.state, full, l, stop); err != nil {
			return err
		}
		if s.state.CompareAndSwap(full, taken) {
			break
		}
	}
	l.read++
	err := transport.Check(from, want, &s.header)
	want.Sum = s.header.Sum
	switch {
	case err != nil:
	case sink.Combine != nil && sink.Foreign:
		if l.readApart(s, sink) {
			return nil
		}
		// What ended the sender's operation reaches this rank too.
		<-stop.Done()
		return errors.Join(stop.Err(), errRevoked)
	case len(s.payload) >= sharedLeast && (sink.Combine == nil || sink.Apart):
		l.payload, l.into, l.combine = s.payload, sink.Into, sink.Combine
		l.board.share(l.to, int64(len(s.payload)), partOf(int64(len(s.payload)), sink.Combine == nil), l.move)
		l.payload, l.into, l.combine = nil, nil, nil
	case sink.Combine != nil:
		sink.Combine(0, s.payload)
	default:
		copy(sink.Into, s.payload)
	}
	s.payload = nil
	s.state.Store(empty)
	l.writer.wake()
	return err
}

// part moves a part of the message that is shared.
func (l *lane) part(from, to int) {
	if l.combine != nil {
		l.combine(from, l.payload[from:to])
		return
	}
	copy(l.into[from:to], l.payload[from:to])
}

// readApart takes a message part by part, each of which is combined when it is not read
// any more, and says whether it came to the end.
func (l *lane) readApart(s *slot, sink *transport.Sink) bool {
	rest := s.payload
	if l.scratch == nil {
		l.scratch = make([]byte, apart)
	}
	for off := 0; ; {
		n := copy(l.scratch, rest)
		if rest = rest[n:]; len(rest) == 0 {
			s.payload = nil
			s.state.Store(empty)
			l.writer.wake()
			sink.Combine(off, l.scratch[:n])
			return true
		}
		s.state.Store(resting)
		sink.Combine(off, l.scratch[:n])
		if !s.state.CompareAndSwap(resting, taken) {
			return false
		}
		off += n
	}
}

// sleeper is one rank waiting for a slot to change.
type sleeper struct {
	asleep atomic.Bool
	signal chan struct{}
	other  *transport.Stop // the rank at the lane's other end has left
}

func (p *sleeper) wake() {
	if p.asleep.Load() && p.asleep.CompareAndSwap(true, false) {
		p.signal <- struct{}{}
	}
}

// wait returns when the state is the wanted one, or with the interruption, or, where the
// other rank has left and the state will never be that, with ErrLeft. Meanwhile it helps
// others with what they share.
func (p *sleeper) wait(state *atomic.Uint32, want uint32, l *lane, stop *transport.Stop) error {
	b := l.board
	if l.crowd <= b.processors {
		for range busyLooks {
			if state.Load() == want {
				return stop.Err()
			}
			if b.wanted() {
				b.help(state, want)
			}
		}
	}
	for range yieldLooks {
		left := p.other.Err() // also here: where hundreds of goroutines run these looks take half a minute
		if state.Load() == want {
			return stop.Err()
		}
		if err := stop.Err(); err != nil {
			return err
		}
		if left != nil {
			return left
		}
		if b.wanted() {
			b.help(state, want)
		}
		runtime.Gosched()
	}
	b.asleep.Add(1)
	defer b.asleep.Add(-1)
	for {
		p.asleep.Store(true)
		left := p.other.Err() // before the look: what it did before it left is there by then
		if state.Load() == want {
			p.up()
			return stop.Err()
		}
		if left != nil {
			p.up()
			return left
		}
		if b.wanted() {
			p.up()
			b.help(state, want)
			if err := stop.Err(); err != nil {
				return err
			}
			runtime.Gosched()
			continue
		}
		select {
		case <-p.signal:
		case <-b.calls:
			p.up()
		case <-p.other.Done():
			p.up()
		case <-stop.Done():
			p.up()
			return stop.Err()
		}
	}
}

// up is a sleeper that wakes by itself: a signal that is on its way is taken.
func (p *sleeper) up() {
	if !p.asleep.CompareAndSwap(true, false) {
		<-p.signal
	}
}
