package shm

import (
	"time"
	"unsafe"

	"github.com/volley-go/volley/collective/transport"
)

// An all-reduce of long vectors needs no messages but one to each other rank, with the address of
// its vector. Every rank has a block of its own: it reads all ranks' parts of that, combines them, and
// writes what they come to into all ranks' results, some parts at a time, which stay in its caches. So
// of a vector's bytes each is read and written once, and ranks wait for each other at the begin and at the end
// only. What is written goes through the doors of push_linux.go, whose rules about interruptions hold;
// results of very long vectors go the way of stage_linux.go.
const (
	mergeLeast = 128 << 10 // bytes of a rank's block of the shortest vector that is merged
	mergeStep  = 4 * part  // bytes of a block that are combined before they are written
	mergePiece = 8 << 10   // and that all ranks' are combined of before the next are, so that sums stay in the nearest cache
	mergePage  = 4 << 10   // blocks begin at multiples of it
)

// Merges says whether vectors of n bytes are merged: of all-reduces only.
func (e *endpoint) Merges(to transport.Merged, n int) bool {
	if to != transport.ToAll || n/e.seg.n < mergeLeast || e.seg.n == 1 {
		return false
	}
	e.mu.Lock() // who describes a call may ask at any time
	defer e.mu.Unlock()
	for r := range e.seg.n {
		if e.closed || e.seg.rank(r).merges.Load() == 0 {
			return false
		}
	}
	return true
}

// mergeBlock is where rank r's block of n bytes lies.
func (e *endpoint) mergeBlock(n, r int) (from, to int) {
	at := func(r int) int { return n / e.seg.n * r &^ (mergePage - 1) }
	if r == e.seg.n-1 {
		return at(r), n
	}
	return at(r), at(r + 1)
}

// Merge combines vectors that lie in the memory of their ranks.
func (e *endpoint) Merge(m *transport.Merge) error {
	err := e.merge(m)
	for r := range e.lanes {
		if r == e.rank {
			continue
		}
		at := &e.lanes[r]
		if err != nil {
			_ = e.shut(at.in, at, true, nil)
			e.revoke(at.out, at)
		}
		clear(at.held[:e.depth])
		at.holding = false
	}
	return err
}

func (e *endpoint) merge(m *transport.Merge) error {
	n, size := len(m.In), e.seg.n
	h := *m.Header
	h.Len = int64(n)
	if need := (size-1)*mergeStep + 64; len(e.merged) < need {
		e.merged = make([]byte, need)
		e.blocks, e.folding = make([][]byte, size), make([][]byte, size)
		e.addresses = make([]uint64, size)
	}
	e.steady.use(m.In)
	e.steady.use(m.Out)
	e.staging = e.stages(m)
	began := time.Now()
	own, end := e.mergeBlock(n, e.rank)
	// Whoever finds this rank's message finds its door open.
	for i := 1; i < size; i++ {
		r := (e.rank + i) % size
		from, to := e.mergeBlock(n, r)
		e.welcome(e.lanes[r].in, &e.lanes[r], &h, m.Out[from:to])
	}
	for i := 1; i < size; i++ {
		r := (e.rank + i) % size
		m.On(r)
		if err := e.lend(r, &h, m.In, m.Out[own:end]); err != nil {
			return err
		}
	}
	for i := 1; i < size; i++ {
		r := (e.rank + i) % size
		m.On(r)
		if err := e.borrow(r, &h); err != nil {
			return err
		}
	}
	if m.Combining != nil {
		m.Combining(true)
	}
	if e.mayStage(m) {
		staging := e.staging
		defer func() { e.results.learn(staging, time.Since(began).Seconds()/float64(n)) }()
	}
	if e.staging {
		return e.mergeStaged(m)
	}
	for to := end; to > own; {
		from := own + (to-own-1)/mergeStep*mergeStep
		if err := e.mergeParts(m, m.Out[from:to], from, to); err != nil {
			return err
		}
		e.spread(m.Out[own:to], from-own)
		to = from
	}
	if m.Combining != nil {
		m.Combining(false)
	}
	for r := range e.lanes {
		if r != e.rank {
			e.spreadNot(&e.lanes[r])
		}
	}
	if err := e.tookAll(m); err != nil {
		return err
	}
	for i := 1; i < size; i++ {
		r := (e.rank + i) % size
		from, to := e.mergeBlock(n, r)
		m.On(r)
		if err := e.settled(r, m.Out[from:to]); err != nil {
			return err
		}
	}
	return e.givenBack(m)
}

// tookAll is an error where a rank has taken its vector back, since what was read may be anything then.
func (e *endpoint) tookAll(m *transport.Merge) error {
	for r := range e.lanes {
		at := &e.lanes[r]
		if r != e.rank && !at.in.slots[at.read&(e.depth-1)].claim.CompareAndSwap(claimed, taken) {
			m.On(r)
			return e.interrupted(r)
		}
	}
	return nil
}

// givenBack waits until no other rank reads this one's vector any more.
func (e *endpoint) givenBack(m *transport.Merge) error {
	for i := 1; i < e.seg.n; i++ {
		r := (e.rank + i) % e.seg.n
		at := &e.lanes[r]
		m.On(r)
		if err := e.await(at, at.out, &at.out.done, at.posted); err != nil {
			return err
		}
	}
	return nil
}

// lend shows a rank this one's vector, and where the block is that it will write.
func (e *endpoint) lend(to int, h *transport.Header, in, block []byte) error {
	at := &e.lanes[to]
	l, k := at.out, at.posted
	if k-at.freed >= e.depth {
		if err := e.await(at, l, &l.done, k-e.depth+1); err != nil {
			return err
		}
		at.freed = l.done.Load()
	}
	s := &l.slots[k&(e.depth-1)]
	at.from[k&(e.depth-1)] = at.next
	s.header.Seq, s.header.Step, s.header.Sum, s.header.Len, s.header.Call = h.Seq, h.Step, h.Sum, h.Len, h.Call
	s.manner = inPlace
	s.claim.Store(offered)
	s.begun().Store(uint64(partsOf(len(in))) << 32) // of the message itself nobody moves a part
	*s.stages() = e.staging
	*s.address(), *s.result() = uint64(addressOf(in)), uint64(addressOf(block))
	e.hold(at, k, in)
	at.posted++
	at.unmerged = len(block)
	e.set(l, &s.flag, k+1)
	return nil
}

// borrow waits for a rank's vector.
func (e *endpoint) borrow(from int, h *transport.Header) error {
	at := &e.lanes[from]
	l, k := at.in, at.read
	s := &l.slots[k&(e.depth-1)]
	if err := e.await(at, l, &s.flag, k+1); err != nil {
		return err
	}
	if err := transport.Check(from, h, &s.header); err != nil {
		if s.manner == inPlace {
			e.drop(s, l, at)
		}
		at.read++
		e.set(l, &l.done, k+1)
		return err
	}
	if s.manner != inPlace || !s.claim.CompareAndSwap(offered, claimed) {
		return e.interrupted(from)
	}
	e.addresses[from] = *s.address()
	e.staging = e.staging && *s.stages()
	return nil
}

// mergeParts sets out to what bytes [from, to) of all ranks' vectors come to, in the order of the canonical tree over
// ranks.
func (e *endpoint) mergeParts(m *transport.Merge, out []byte, from, to int) error {
	room := e.merged[-addressOf(e.merged)&63:]
	for r := range e.lanes {
		if r == e.rank {
			e.blocks[r] = m.In[from:to]
			continue
		}
		into := room[:to-from]
		room = room[mergeStep:]
		if err := readFrom(int(e.lanes[r].peer.pid.Load()), into, e.addresses[r]+uint64(from)); err != nil {
			m.On(r) // who was waited for last is another
			return err
		}
		e.blocks[r] = into
	}
	for at := 0; at < to-from; at += mergePiece {
		e.fold(m, out, at, min(to-from, at+mergePiece))
	}
	return e.stop.Err()
}

// fold combines bytes [at, end) of e.blocks, which it overwrites but for its rank's own.
func (e *endpoint) fold(m *transport.Merge, out []byte, at, end int) {
	loc := e.folding
	for r := range loc {
		loc[r] = e.blocks[r][at:end]
	}
	for own, w := e.rank, 1; w < len(loc); w *= 2 {
		for a := 0; a+w < len(loc); a += 2 * w {
			into := loc[a]
			switch {
			case 2*w >= len(loc):
				into = out[at:end]
			case a == own: // that one is the caller's, and stays
				into, own = loc[a+w], -1
			}
			m.Combine(into, loc[a], loc[a+w])
			loc[a] = into
		}
	}
}

// spread writes bytes from on of the own block, which ends where nothing was written yet, to all ranks.
func (e *endpoint) spread(block []byte, from int) {
	for i := 1; i < len(e.lanes); i++ {
		at := &e.lanes[(e.rank+i)%len(e.lanes)]
		l := at.out
		for end := len(block); end > from && at.unmerged == end && e.stop.Err() == nil; {
			length, count, n := wholes, uint32(1), end%part
			if n == 0 {
				for length, n = wholes-1, part<<(wholes-1); n > end-from; length, n = length-1, n/2 {
				}
				count = 1 << length
			}
			l.door.reaches[length].base.Store(l.door.into.Load() + uint64(end-n))
			if !l.door.write(int(at.peer.pid.Load()), length, block[end-n:end]) {
				break
			}
			end -= n
			at.unmerged = end
			at.pushedOut += count
			e.set(l, &l.door.pushed, at.pushedOut)
		}
	}
}

// spreadNot leaves to a rank what could not be written into its memory.
func (e *endpoint) spreadNot(at *ends) {
	if count := partsOf(at.unmerged); count > 0 {
		at.out.door.failed.Store(count)
		at.pushedOut += count
		e.set(at.out, &at.out.door.pushed, at.pushedOut)
		at.unmerged = 0
	}
}

// settled waits until another rank's block has come, reads what that could not write, and gives its
// vector back.
func (e *endpoint) settled(from int, into []byte) error {
	at := &e.lanes[from]
	l, k := at.in, at.read
	all := partsOf(len(into))
	if err := e.await(at, l, &l.door.pushed, at.pushedIn+all); err != nil {
		return err
	}
	at.pushedIn += all
	if failed := int(l.door.failed.Load()); failed > 0 {
		l.door.failed.Store(0)
		s := &l.slots[k&(e.depth-1)]
		if err := readFrom(int(at.peer.pid.Load()), into[:min(len(into), failed*part)], *s.result()); err != nil {
			return err
		}
	}
	at.read++
	e.set(l, &l.done, k+1)
	return nil
}

// result is of a vector that is merged: the address of its rank's block of the result.
func (s *slot) result() *uint64 { return (*uint64)(unsafe.Pointer(&s.data[16])) }

// stages is of a vector that is merged: its rank had rather take its result than have it written.
func (s *slot) stages() *bool { return (*bool)(unsafe.Pointer(&s.data[24])) }
