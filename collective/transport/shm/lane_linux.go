package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/processors"
	"github.com/volley-go/volley/internal/release"
)

// A rank that waits looks again and again; then it lets other goroutines run between
// two looks, for about a millisecond, then other processes; then it sleeps for nap at
// most. Who gives its processor away gets it back after the other's time slice, which
// is longer than most operations; but where ranks are more than processors what it
// waits for may be one of those who have none: see patience.
const (
	busyLooks   = 4000
	sharedLooks = 64 // between two goroutines' turns
	turns       = 4000
	crowdLooks  = 50
	crossLooks  = 12000
	yieldLooks  = 200
	nap         = time.Millisecond
)

// await returns when a word has come to the number wanted, or with the interruption, or,
// where the other rank has left and so will never write it, with ErrLeft. Numbers grow by less than half of their type's range while somebody waits.
func (e *endpoint) await(at *ends, l *lane, word *atomic.Uint32, want uint32) error {
	if seen(word, want, 1) || seen(word, want, e.patience(at)) {
		return e.stop.Err()
	}
	for i := 0; ; i++ {
		now := word.Load()
		if int32(now-want) >= 0 {
			return e.stop.Err()
		}
		if err := e.stop.Err(); err != nil {
			return err
		}
		if e.rest(at, l, word, want, now, i) {
			if seen(word, want, 1) { // it wrote first and left then
				return e.stop.Err()
			}
			return transport.ErrLeft
		}
	}
}

// rest is what a rank does after the i-th time that it looked at a word in vain, and found
// now there. It says whether the other rank has left.
func (e *endpoint) rest(at *ends, l *lane, word *atomic.Uint32, want, now uint32, i int) (left bool) {
	switch {
	case !e.crowded && i < turns:
		runtime.Gosched() // a rank of this process may be what it waits for
		seen(word, want, sharedLooks)
	case i < yieldLooks || !e.crowded && i < turns+yieldLooks:
		yield()
		if i%16 == 15 {
			runtime.Gosched()
		}
	case at.peer.left.Load() != 0:
		return true
	default:
		l.sleepers.Add(1)
		if !e.fenced {
			fenceOthers()
		}
		if word.Load() == now {
			sleep(word, now, nap)
		}
		l.sleepers.Add(-1)
	}
	return false
}

// patience is how often a rank looks for what another one does before it gives its
// processor away. Where there are more ranks than processors, one that was last seen on the
// same processor does nothing until then, so the switch is made at once. One on another
// processor is worth some microseconds, twice what a switch and the way back take, if ranks
// that share processors come to their messages at the same time: where two share each.
func (e *endpoint) patience(at *ends) int {
	if !e.crowded {
		return busyLooks
	}
	own, here := e.seg.rank(e.rank), 1+processor()
	if own.on.Load() != here {
		own.on.Store(here)
	}
	switch {
	case at.peer.on.Load() == here:
		return 0
	case e.seg.n <= 2*processors.Count:
		return crossLooks
	}
	return crowdLooks
}

// seen looks so many times.
func seen(word *atomic.Uint32, want uint32, times int) bool {
	for range times {
		if int32(word.Load()-want) >= 0 {
			return true
		}
	}
	return false
}

// awaitEmpty waits for a chunk to be emptied.
func (e *endpoint) awaitEmpty(at *ends, l *lane, state *atomic.Uint32) error {
	for i := 0; ; i++ {
		if err := e.stop.Err(); err != nil {
			return err
		}
		if state.Load() == empty {
			return nil
		}
		if i < yieldLooks {
			yield()
			runtime.Gosched()
			continue
		}
		if at.peer.left.Load() != 0 {
			return transport.ErrLeft
		}
		l.sleepers.Add(1)
		if !e.fenced {
			fenceOthers()
		}
		if state.Load() == full {
			sleep(state, full, nap)
		}
		l.sleepers.Add(-1)
	}
}

// set changes a state and wakes who sleeps on it. A call into the system is spared
// where nobody sleeps. That needs a fence between the store and the look for sleepers;
// waiting there for the store to reach a line that the other rank has is most of a
// short message's cost. So who is about to sleep has all others pass a fence instead
// (membarrier), where the system can do that and ranks seldom sleep.
func (e *endpoint) set(l *lane, state *atomic.Uint32, to uint32) {
	if e.fenced {
		state.Store(to)
	} else {
		release.Store32(state, to)
	}
	if l.sleepers.Load() > 0 {
		wake(state)
	}
}

// Post puts a message into the lane's next slot.
func (e *endpoint) Post(to int, h *transport.Header, payload []byte) error {
	at := &e.lanes[to]
	l, k := at.out, at.posted
	if k-at.freed >= e.depth {
		if err := e.await(at, l, &l.done, k-e.depth+1); err != nil {
			return err
		}
		at.freed = l.done.Load()
	} else if err := e.stop.Err(); err != nil {
		return err
	}
	s := &l.slots[k&(e.depth-1)]
	at.from[k&(e.depth-1)] = at.next
	// Field by field, as they were written: a wider load of what was just stored in
	// parts waits for the stores.
	s.header.Seq, s.header.Step, s.header.Sum, s.header.Len, s.header.Call = h.Seq, h.Step, h.Sum, int64(len(payload)), h.Call
	s.apart = e.exchange.way != byLength
	switch {
	case len(payload) <= inline:
		s.manner = inSlot
		put(s.data[:], payload)
	case e.rings(to, l, len(payload)):
		s.manner = inRing
		off, err := e.place(l, at, k, len(payload))
		if err == nil {
			err = e.ringTo(to, off+len(payload))
		}
		if err != nil {
			return err
		}
		*s.address() = uint64(off)
		class, began := -1, time.Time{}
		if e.adapts {
			class = classOf(len(payload))
		}
		if class >= 0 {
			*s.wrote(), began = at.writing[class], time.Now()
		}
		release.Store32(&s.claim, 0)
		e.set(l, &s.flag, k+1)
		at.posted++
		for done := 0; done < len(payload); {
			n := copy(l.ring[off+done:off+min(len(payload), done+piece)], payload[done:])
			done += n
			e.set(l, &s.claim, uint32(done))
		}
		if class >= 0 {
			at.writing[class] = uint64(time.Since(began))
		}
		return nil
	case e.seg.rank(to).noread.Load() == 0:
		e.steady.use(payload)
		s.manner = inPlace
		s.claim.Store(offered)
		s.begun().Store(0)
		*s.address() = uint64(uintptr(unsafe.Pointer(&payload[0])))
		e.hold(at, k, payload)
		if !slices.Contains(e.lending, to) {
			e.lending = append(e.lending, to)
			at.lendFrom = k
		}
	default:
		if err := e.chunksOf(at); err != nil {
			return err
		}
		s.manner = inChunks
		e.hold(at, k, payload)
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
	at.posted++
	e.set(l, &s.flag, k+1)
	// The next message's lines, which the reader has from an earlier one, come while this
	// rank does something else: as many as this message had, since calls repeat.
	release.Own(unsafe.Pointer(&l.slots[(k+1)&(e.depth-1)]), min(len(payload), 8*64))
	return nil
}

// place finds n bytes in the ring for message k. Positions count on and on; where
// nothing is in the ring they begin anew after a cycle, so that the same lines of the caches are
// used again, and with every message that is shown as a whole.
func (e *endpoint) place(l *lane, at *ends, k uint32, n int) (int, error) {
	for {
		at.freed = l.done.Load()
		if at.freed == k && (n <= piece || e.near(at) || at.next%room+n > e.cycle) {
			at.next = 0
		}
		tail, off := at.next, at.next%room
		if at.freed != k {
			tail = at.from[at.freed&(e.depth-1)]
		}
		skip := 0
		if off+n > room {
			skip, off = room-off, 0
		}
		if under := at.next + skip + n - tail; under <= room && (under <= e.under || k-at.freed < 2*told) {
			at.from[k&(e.depth-1)] = at.next
			at.next += skip + n
			return off, nil
		}
		if err := e.await(at, l, &l.done, at.freed+1); err != nil {
			return 0, err
		}
	}
}

// near says that the other rank, when either waited last, was on this one's processor.
func (e *endpoint) near(at *ends) bool {
	return e.crowded && at.peer.on.Load() == e.seg.rank(e.rank).on.Load()
}

func (e *endpoint) hold(at *ends, k uint32, payload []byte) {
	at.held[k&(e.depth-1)], at.own[k&(e.depth-1)] = payload, 0
	if !at.holding {
		at.heldFrom = k
	}
	at.holding, at.heldTo = true, k+1
}

// pump copies a long message into the lane's chunks as the receiver empties them.
func (e *endpoint) pump(l *lane, at *ends, payload []byte) {
	for len(payload) > 0 {
		k := at.filled % chunks
		if e.awaitEmpty(at, l, &l.fill[k].state) != nil {
			return
		}
		at.filled++
		n := copy(l.data[k][:], payload)
		l.fill[k].len = uint32(n)
		e.set(l, &l.fill[k].state, full)
		payload = payload[n:]
	}
}

// Flush waits until no payload is read in place any more. When it is interrupted it
// takes back what has not been read to its end.
func (e *endpoint) Flush(to int) error {
	at := &e.lanes[to]
	l := at.out
	if !at.holding {
		return e.stop.Err()
	}
	err := e.help(l, at)
	if err == nil && at.holding {
		err = e.push(l, at)
	}
	if err != nil {
		e.revoke(l, at)
	}
	at.pumps.Wait()
	clear(at.held[:e.depth])
	at.holding = false
	if i := slices.Index(e.lending, to); i >= 0 {
		e.lending = slices.Delete(e.lending, i, i+1)
	}
	return err
}

// revoke takes back what is held, and waits for no reader: one whose process is
// stopped, or whose reduction does not return, would have this rank wait as long. A
// reader that is in the middle reads on, from memory that may change under it or not
// be there any more, which harms nobody: it only reads, and when it has done it finds
// the message taken back and gives an error. Parts that were laid into the segment
// stay as they are, since nothing is posted on an endpoint that was interrupted.
func (e *endpoint) revoke(l *lane, at *ends) {
	at.pumps.Wait()
	for back := uint32(1); back <= e.depth; back++ {
		k := at.posted - back
		s := &l.slots[k&(e.depth-1)]
		if at.held[k&(e.depth-1)] != nil && s.manner == inPlace {
			s.claim.Store(revoked)
		}
	}
}

// Recv takes the lane's next message.
func (e *endpoint) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	at := &e.lanes[from]
	l, k := at.in, at.read
	s := &l.slots[k&(e.depth-1)]
	if int32(s.flag.Load()-(k+1)) >= 0 {
		if err := e.stop.Err(); err != nil {
			return err
		}
		// The sender is ahead: what it has posted comes while this rank works. Where it is not,
		// a look at a line that it is about to write would make it wait.
		if at.ahead++; at.ahead > 2 {
			release.Fetch(unsafe.Pointer(&l.slots[(k+4)&(e.depth-1)]))
		}
	} else {
		at.ahead = 0
		if err := e.await(at, l, &s.flag, k+1); err != nil {
			return err
		}
	}
	err := transport.Check(from, want, &s.header)
	if err == nil {
		want.Sum = s.header.Sum
		err = e.take(from, s, l, at, sink)
	} else if s.manner == inPlace {
		e.drop(s, l, at)
	}
	if err == errRevoked {
		return e.interrupted(from)
	}
	at.read++
	if err == nil {
		at.expected = nil
	}
	// Whoever posts into a lane that is full reads this word: so it is not written for
	// each short message, which holds nothing but its slot.
	if at.read%told == 0 || s.manner != inSlot || err != nil {
		e.set(l, &l.done, k+1)
	}
	return err
}

// errRevoked is a message whose sender took it back: the operation has failed there.
var errRevoked = errors.New("taken back")

// interrupted waits for what ended the sender's operation to reach this rank.
func (e *endpoint) interrupted(from int) error {
	at := &e.lanes[from]
	return e.await(at, at.in, &at.in.slots[at.read&(e.depth-1)].flag, at.read+2)
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
		if !s.claim.CompareAndSwap(offered, claimed) {
			return errRevoked
		}
		if at.expected == nil {
			e.steady.use(sink.Into)
		}
		began := time.Now()
		err := e.takeParts(s, l, at, sink)
		if err == nil && e.adapts && !s.apart {
			at.took(l, n, false, time.Since(began))
		}
		if !s.claim.CompareAndSwap(claimed, taken) {
			return errRevoked // what was read may be anything
		}
		return err
	}
	if s.manner == inRing {
		off := *s.address()
		if n > longest || off > room-uint64(n) {
			return fmt.Errorf("shm: a message of rank %d lies at %d of its ring and has %d bytes", from, off, n)
		}
		return e.takeRing(s, l, at, sink, int(off), n)
	}
	for off := 0; off < n; {
		k := &l.fill[at.emptied%chunks]
		if err := e.await(at, l, &k.state, full); err != nil {
			return err
		}
		m := min(int(k.len), chunk, n-off)
		deliver(sink, off, l.data[at.emptied%chunks][:m])
		at.emptied++
		off += m
		e.set(l, &k.state, empty)
	}
	return nil
}

// takeRing takes a message of n bytes that lies at off of the ring.
func (e *endpoint) takeRing(s *slot, l *lane, at *ends, sink *transport.Sink, off, n int) error {
	timed, oneWay, began, before := e.adapts && n > ringAlways && !s.apart, false, time.Time{}, time.Duration(0)
	if timed {
		began = time.Now()
		if int(s.claim.Load()) >= n { // else both work at the same time
			before = time.Duration(*s.wrote())
		}
		// A rank that sends as well has written meanwhile; where it only takes, the writer is a message ahead.
		oneWay = at.posted == at.postedThen
		at.postedThen = at.posted
	}
	for done := 0; done < n; {
		if err := e.await(at, l, &s.claim, uint32(min(n, done+piece))); err != nil {
			return err
		}
		there := min(n, int(s.claim.Load()))
		deliver(sink, done, l.ring[off+done:off+there])
		done = there
	}
	if timed {
		took := time.Since(began)
		if oneWay {
			took = max(took, before)
		} else {
			took += before
		}
		at.took(l, n, true, took)
	}
	return nil
}

func deliver(sink *transport.Sink, off int, part []byte) {
	if sink.Combine != nil {
		sink.Combine(off, part)
		return
	}
	put(sink.Into[off:], part)
}

// put copies; numbers alone without a call.
func put(into, from []byte) {
	switch len(from) {
	case 4:
		binary.LittleEndian.PutUint32(into, binary.LittleEndian.Uint32(from))
	case 8:
		binary.LittleEndian.PutUint64(into, binary.LittleEndian.Uint64(from))
	default:
		copy(into, from)
	}
}
