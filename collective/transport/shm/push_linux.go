package shm

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/volley-go/volley/collective/transport"
)

// A long message that is only copied is moved by two processors: its reader reads it from
// the front, and a writer that waits for that writes it from the end into the reader's
// memory, until they meet. Whoever counts slot.begun on has those parts.
//
// What the writer is at must be over when the reader's call returns, also where an
// interruption ends it, and the writer may be stopped at any time, and go on long after. So
// the address and the length that the writer gives to the system lie in the segment, where
// the system reads them when the call begins. The lengths are the reader's: it sets them to 0
// for good, and then waits for a call that had begun before. Such a call ends by itself, since a
// process is not stopped inside of it; one that had not begun by then writes nothing.
//
// What is not ruled out: a writer that is stopped in the few instructions between its last look
// at the interruption and the call, while its reader dies and the reader's process number goes to another
// process of the same user.

// open allows the writer to write.
func (d *door) open() {
	for i := range wholes {
		d.reaches[i].len.Store(part << i)
	}
}

// pushes says whether this rank and another one write each other's messages.
func (e *endpoint) pushes(to int) bool {
	return to != e.rank && e.seg.rank(to).shared.Load() != 0 && e.seg.rank(e.rank).shared.Load() != 0
}

// share is how many of the parts that nobody has begun one of two takes next: the fewer are
// left the less, so that both are done at the same time.
func share(left uint32) uint32 { return min(max(1, left*3/8), 1<<(wholes-1)) }

// welcome lets the writer write the message that comes next into memory of this rank.
func (e *endpoint) welcome(l *lane, at *ends, want *transport.Header, into []byte) {
	if rest := uint64(len(into) % part); l.door.reaches[wholes].len.Load() != rest {
		l.door.reaches[wholes].len.Store(rest)
	}
	l.door.length.Store(int64(len(into)))
	l.door.print.Store(fingerprint(want))
	l.door.into.Store(uint64(addressOf(into)))
	l.door.message.Store(at.read + 1)
	if l.sleepers.Load() > 0 {
		wake(&l.done)
	}
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Expect lets the writer of a long message write it from now on.
func (e *endpoint) Expect(from int, want *transport.Header, into []byte) {
	at := &e.lanes[from]
	if !at.pushes || at.expected != nil || e.ringsHere(at, len(into)) {
		return
	}
	e.steady.use(into)
	at.expected = into
	e.welcome(at.in, at, want, into)
}

// Forget shuts the doors of what was expected.
func (e *endpoint) Forget() {
	for r := range e.lanes {
		if at := &e.lanes[r]; at.expected != nil {
			_ = e.shut(at.in, at, true, nil)
			at.expected = nil
		}
	}
}

// Copies that other ranks read too are made in steps that stay in a cache. Those of very long
// ones are as long as what the runtime's copy bypasses the caches for: only what is read stays then.
const (
	stepped  = 512 << 10 // bytes of the shortest such copy
	step     = 4 * part
	longStep = 1 << 20
	longCopy = 4 << 20
)

// Copy copies from the end, and writes what it has copied to those who wait for it: it is
// read from memory once.
func (e *endpoint) Copy(into, from []byte) {
	if len(from) < stepped || !e.awaited(from) {
		copy(into, from)
		return
	}
	length := step
	if len(from) >= longCopy {
		length = longStep
	}
	for to := len(from); to > 0; {
		at := (to - 1) / length * length
		copy(into[at:to], from[at:to])
		to = at
		for _, r := range e.lending {
			lent := &e.lanes[r]
			for k := lent.heldFrom; k != lent.heldTo; k++ {
				payload := lent.held[k&(e.depth-1)]
				if !same(payload, from) || !e.invited(lent.out, lent, k) {
					continue
				}
				s := &lent.out.slots[k&(e.depth-1)]
				for e.stop.Err() == nil {
					front, _, left := s.parts()
					if int(front+left)*part <= at || !e.pushParts(lent.out, lent, s, payload) {
						break
					}
				}
			}
		}
	}
}

// awaited says whether a payload was posted to a rank that may be written to.
func (e *endpoint) awaited(payload []byte) bool {
	for _, r := range e.lending {
		at := &e.lanes[r]
		for k := at.heldFrom; at.pushes && k != at.heldTo; k++ {
			if same(at.held[k&(e.depth-1)], payload) {
				return true
			}
		}
	}
	return false
}

func same(a, b []byte) bool { return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b) }

// invited says whether the reader lets message k be written.
func (e *endpoint) invited(l *lane, at *ends, k uint32) bool {
	if l.door.message.Load() != k+1 || at.refused == k+1 || at.held[k&(e.depth-1)] == nil {
		return false
	}
	s := &l.slots[k&(e.depth-1)]
	return s.manner == inPlace && s.header.Len == l.door.length.Load() && fingerprint(&s.header) == l.door.print.Load()
}

// fingerprint tells headers apart in what Recv compares: it is what an expected message is known
// by, so that of another one no byte is written. Its length is compared apart.
func fingerprint(h *transport.Header) uint64 {
	const odd = 0x9e3779b97f4a7c15
	c := &h.Call
	f := h.Seq*odd + uint64(h.Step)
	f = f*odd + uint64(c.Op)<<24 + uint64(c.Type)<<16 + uint64(c.Reduce)<<8 + uint64(c.Algorithm)
	return (f*odd+uint64(uint32(c.Root)))*odd + uint64(c.Count)
}

// farewell waits until the writer has written the parts that it has begun, which are back,
// from the end, and reads what it could not write.
func (e *endpoint) farewell(pid int, s *slot, l *lane, at *ends, back uint32, sink *transport.Sink) error {
	if err := e.await(at, l, &l.door.pushed, at.pushedIn+back); err != nil {
		return err
	}
	at.pushedIn += back
	failed := l.door.failed.Load()
	if failed == 0 {
		return nil
	}
	l.door.failed.Store(0)
	from := int(partsOf(len(sink.Into))-back) * part
	return e.read(pid, *s.address(), from, min(len(sink.Into), from+int(failed)*part), sink)
}

// shut ends a take that has failed: when it returns the writer writes no more.
func (e *endpoint) shut(l *lane, at *ends, pushed bool, err error) error {
	if !pushed {
		return err
	}
	at.pushes = false
	for i := range l.door.reaches {
		l.door.reaches[i].len.Store(0)
	}
	for i := 0; ; i++ {
		thread := l.door.busy.Load()
		if thread == 0 {
			return err
		}
		if i < yieldLooks {
			yield()
			runtime.Gosched()
			continue
		}
		// In the call it runs, or it waits for a page, which nothing interrupts. In any
		// other state it is outside.
		if state, ok := threadState(int(at.peer.pid.Load()), int(thread)); ok && state != 'R' && state != 'D' {
			return err
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// push waits until all messages that are held have been taken, and writes parts of the one
// that the reader is at.
func (e *endpoint) push(l *lane, at *ends) error {
	if !at.pushes {
		return e.await(at, l, &l.done, at.heldTo)
	}
	seenFor, looks := uint32(0), 0
	for i := 0; ; {
		done := l.done.Load()
		if int32(done-at.heldTo) >= 0 {
			return e.stop.Err()
		}
		if m := l.door.message.Load(); m != seenFor && m-1-at.heldFrom < at.heldTo-at.heldFrom {
			e.pushMessage(l, at, m-1)
			seenFor, looks, i = m, 0, 0
			continue
		}
		if looks < busyLooks {
			looks++
			continue
		}
		if err := e.stop.Err(); err != nil {
			return err
		}
		if e.rest(at, l, &l.done, at.heldTo, done, i) {
			if seen(&l.done, at.heldTo, 1) {
				return e.stop.Err()
			}
			return transport.ErrLeft
		}
		i++
	}
}

// pushMessage writes parts of a message until all have been begun.
func (e *endpoint) pushMessage(l *lane, at *ends, k uint32) {
	if !e.invited(l, at, k) {
		return
	}
	s, payload := &l.slots[k&(e.depth-1)], at.held[k&(e.depth-1)]
	for e.stop.Err() == nil && e.pushParts(l, at, s, payload) {
	}
}

// pushParts writes the last parts that nobody has begun, and says whether the reader can take
// more of the message so.
func (e *endpoint) pushParts(l *lane, at *ends, s *slot, payload []byte) bool {
	front, back, left := s.parts()
	if left == 0 {
		return false
	}
	length := 0
	for 2<<length <= share(left) {
		length++
	}
	count := uint32(1) << length
	if back == 0 && len(payload)%part != 0 {
		length, count = wholes, 1
	}
	if !s.begin(front, back, 0, count) {
		return true
	}
	off := int(front+left-count) * part
	l.door.reaches[length].base.Store(l.door.into.Load() + uint64(off))
	at.pushedOut += count
	wrote := l.door.write(int(at.peer.pid.Load()), length, payload[off:min(len(payload), off+int(count)*part)])
	if !wrote {
		at.refused = l.door.message.Load()
		l.door.failed.Store(count) // the reader takes those parts, and what is left
	}
	e.set(l, &l.door.pushed, at.pushedOut)
	return wrote
}

// write writes as many bytes as the door's reach of this length has to where that says, and
// says whether it did.
func (d *door) write(pid, length int, from []byte) bool {
	runtime.LockOSThread() // which the reader looks at
	d.busy.Store(uint32(unix.Gettid()))
	wrote := d.call(pid, length, from)
	d.busy.Store(0)
	runtime.UnlockOSThread()
	return wrote
}

func (d *door) call(pid, length int, from []byte) bool {
	if d.reaches[length].len.Load() == 0 { // also what puts the system's own look behind the store to busy
		return false
	}
	local := unix.Iovec{Base: &from[0], Len: uint64(len(from))}
	got, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_WRITEV, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&d.reaches[length])), 1, 0)
	return errno == 0 && int(got) == len(from)
}
