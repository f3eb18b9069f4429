package shm

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/volley-go/volley/collective/transport"
)

// A rank that waits looks again and again, then gives way between two looks, then
// sleeps for nap at most. Where ranks are more than processors it gives way at once.
const (
	busyLooks  = 4000
	yieldLooks = 200
	nap        = time.Millisecond
)

// await returns when the state is the wanted one, or with the interruption.
func (e *endpoint) await(l *lane, state *atomic.Uint32, want uint32) error {
	looks := busyLooks
	if e.seg.n > processors {
		looks = 50
	}
	for range looks {
		if state.Load() == want {
			return e.stop.Err()
		}
	}
	for i := 0; ; i++ {
		now := state.Load()
		if now == want {
			return e.stop.Err()
		}
		if err := e.stop.Err(); err != nil {
			return err
		}
		if i < yieldLooks {
			yield()
			runtime.Gosched() // a rank of this process may be what it waits for
			continue
		}
		l.sleepers.Add(1)
		if state.Load() == now {
			sleep(state, now, nap)
		}
		l.sleepers.Add(-1)
	}
}

// set changes a state and wakes who sleeps on it. A call into the system is spared
// where nobody sleeps.
func (l *lane) set(state *atomic.Uint32, to uint32) {
	state.Store(to)
	if l.sleepers.Load() > 0 {
		wake(state)
	}
}

// Post puts a message into the lane's next slot.
func (e *endpoint) Post(to int, h *transport.Header, payload []byte) error {
	l, at := e.seg.lane(e.rank, to), &e.lanes[to]
	i := at.posted % depth
	s := &l.slots[i]
	if err := e.await(l, &s.state, empty); err != nil {
		return err
	}
	at.posted++
	s.header = *h
	s.header.Len = int64(len(payload))
	at.held[i] = nil
	switch {
	case len(payload) <= inline:
		s.manner = inSlot
		copy(s.data[:], payload)
	case e.seg.rank(to).noread.Load() == 0:
		s.manner = inPlace
		s.address = uint64(uintptr(unsafe.Pointer(&payload[0])))
		at.held[i] = payload
	default:
		s.manner = inChunks
		at.held[i] = payload
		before := at.turn
		mine := make(chan struct{})
		at.turn = mine
		at.pumps.Go(func() {
			defer close(mine)
			if before != nil {
				<-before
			}
			e.pump(l, at, payload)
		})
	}
	l.set(&s.state, full)
	return nil
}

// pump copies a long message into the lane's chunks as the receiver empties them.
func (e *endpoint) pump(l *lane, at *ends, payload []byte) {
	for len(payload) > 0 {
		k := at.filled % chunks
		if e.await(l, &l.fill[k].state, empty) != nil {
			return
		}
		at.filled++
		n := copy(l.data[k][:], payload)
		l.fill[k].len = uint32(n)
		l.set(&l.fill[k].state, full)
		payload = payload[n:]
	}
}

// Flush waits until no payload is read in place any more. When it is interrupted it
// takes back what nobody has begun to read.
func (e *endpoint) Flush(to int) error {
	l, at := e.seg.lane(e.rank, to), &e.lanes[to]
	for i := range at.held {
		if at.held[i] == nil {
			continue
		}
		if err := e.await(l, &l.slots[i].state, empty); err != nil {
			e.revoke(l, at, to)
			return err
		}
		at.held[i] = nil
	}
	at.pumps.Wait()
	return e.stop.Err()
}

// revoke waits for reads that have begun, unless the reader is gone.
func (e *endpoint) revoke(l *lane, at *ends, to int) {
	at.pumps.Wait()
	for i := range l.slots {
		s := &l.slots[i]
		if at.held[i] == nil || s.state.CompareAndSwap(full, empty) {
			continue
		}
		for s.state.Load() == taken {
			if _, runs := bornAt(int(e.seg.rank(to).pid.Load())); !runs {
				break
			}
			sleep(&s.state, taken, nap)
		}
	}
}

// Recv takes the lane's next message.
func (e *endpoint) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	l, at := e.seg.lane(from, e.rank), &e.lanes[from]
	s := &l.slots[at.read%depth]
	for {
		if err := e.await(l, &s.state, full); err != nil {
			return err
		}
		if s.state.CompareAndSwap(full, taken) {
			break
		}
	}
	at.read++
	err := transport.Check(from, want, &s.header)
	if err == nil {
		want.Sum = s.header.Sum
		err = e.take(from, s, l, at, sink)
	}
	l.set(&s.state, empty)
	return err
}

func (e *endpoint) take(from int, s *slot, l *lane, at *ends, sink *transport.Sink) error {
	n := int(s.header.Len)
	switch s.manner {
	case inSlot:
		if n > inline {
			return fmt.Errorf("shm: a slot of rank %d says %d bytes", from, n)
		}
		deliver(sink, 0, s.data[:n])
		return nil
	case inPlace:
		pid := int(e.seg.rank(from).pid.Load())
		if sink.Combine == nil {
			return readFrom(pid, sink.Into[:n], s.address)
		}
		for off := 0; off < n; off += len(e.scratch) {
			part := e.scratch[:min(len(e.scratch), n-off)]
			if err := readFrom(pid, part, s.address+uint64(off)); err != nil {
				return err
			}
			sink.Combine(off, part)
		}
		return nil
	}
	for off := 0; off < n; {
		k := &l.fill[at.emptied%chunks]
		if err := e.await(l, &k.state, full); err != nil {
			return err
		}
		m := min(int(k.len), chunk, n-off)
		deliver(sink, off, l.data[at.emptied%chunks][:m])
		at.emptied++
		off += m
		l.set(&k.state, empty)
	}
	return nil
}

func deliver(sink *transport.Sink, off int, part []byte) {
	if sink.Combine != nil {
		sink.Combine(off, part)
		return
	}
	copy(sink.Into[off:], part)
}
