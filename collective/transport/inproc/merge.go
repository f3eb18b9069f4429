package inproc

import (
	"errors"
	"math/bits"
	"unsafe"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/internal/pastcopy"
)

// A reduction of long vectors needs no schedule where all of them are in one memory. A rank's only message to
// each other one is its two vectors; who has all of them combines a block of its own, some parts at a time
// that stay in the nearest cache, and writes what they come to into the results. So of a vector's bytes each is
// read once, and written once by result. Ranks that wait take parts of others' blocks.
const (
	// Bytes of a rank's block of the shortest vector that is merged: 2 KiB of 2 ranks take 0.48 µs and not 0.5, 8 KiB
	// of 4 4.0 and not 6.6.
	mergeLeast = 2 << 10
	// Where each result is one rank's, two ranks gain by stores past the caches only, 64 MiB out of place 4.9 ms and not 5.5, and
	// four less than where all have it: reduced to one rank 32 KiB take as long, 256 KiB 15 µs and not 21, 64 MiB
	// 8.6 ms and not 11; reduced to blocks 64 KiB 6.0 µs and not 7.7, 4 MiB as long, 64 MiB 9.7 ms and not 13.
	rootLeast  = 8 << 10
	mergeAlign = 128      // blocks begin at multiples of it: two ranks do not write the same line, or its neighbour
	mergePiece = 8 << 10  // that all ranks' are combined of before the next are, so that sums stay in the nearest cache;
	longPiece  = 16 << 10 // of vectors of mergeLong bytes together, which come from memory
	mergeLong  = 64 << 20
	// Results apart from what they come of are stored past the caches where all together are
	// so many bytes: 4 MiB of 2 ranks 131 µs and not 160, but 1 MiB of 4 88 and not 77.
	mergePast = 16 << 20
	// Where all results are apart sums of up to directMost ranks are stored past the caches as they are made, and this many
	// bytes of a vector between two looks at whether the operation has ended.
	directPiece = 128 << 10
	directMost  = 4
)

// merging is the reduction that an endpoint is in.
type merging struct {
	with      *transport.Merge
	ins, outs [][]byte // of all ranks
	base      int      // where the own block begins
	apart     int      // bytes of a vector that lie before its result
	only      int      // who has the result, if that is one rank
	past      bool     // results are stored past the caches
	direct    [][]byte // the results, where sums go there without a stop in the nearest cache
	piece     int      // that is combined at once
	part      func(from, to int)
}

// Merges says whether vectors of n bytes are merged.
func (e *endpoint) Merges(to transport.Merged, n int) bool {
	size := e.Size()
	switch to {
	case transport.ToAll:
		return size > 1 && n/size >= mergeLeast
	case transport.ToRoot:
		return size > 2 && n/size >= rootLeast || size == 2 && (size+1)*n >= mergePast
	default:
		return size > 2 && n/size >= mergeLeast || size == 2 && (size+1)*n >= mergePast
	}
}

// mergeBlock is where rank r's block of n bytes lies.
func mergeBlock(n, r, size int) (from, to int) {
	at := func(r int) int { return n / size * r &^ (mergeAlign - 1) }
	if r == size-1 {
		return at(r), n
	}
	return at(r), at(r + 1)
}

// Merge combines vectors of all ranks.
func (e *endpoint) Merge(m *transport.Merge) error {
	g := &e.merging
	if g.part == nil {
		g.part = e.mergePart
		g.ins, g.outs = make([][]byte, e.Size()), make([][]byte, e.Size())
	}
	g.with = m
	err := e.merge(m)
	if err != nil {
		for r := range e.w.lanes {
			e.w.lanes[e.rank][r].revoke()
		}
	}
	g.with = nil
	clear(g.ins)
	clear(g.outs)
	clear(g.direct)
	return err
}

func (e *endpoint) merge(m *transport.Merge) error {
	g, size := &e.merging, e.Size()
	h := *m.Header
	h.Len = int64(len(m.In))
	for i := 1; i < size; i++ {
		r := (e.rank + i) % size
		m.On(r)
		if err := e.w.lanes[e.rank][r].lend(&h, m.In, m.Out, e.stop); err != nil {
			return err
		}
	}
	g.ins[e.rank], g.outs[e.rank] = m.In, m.Out
	for i := 1; i < size; i++ {
		r := (e.rank + i) % size
		m.On(r)
		if err := e.w.lanes[r][e.rank].lent(r, &h, e.stop); err != nil {
			return err
		}
	}
	// Nobody waits for anybody with vectors in its hands that their rank may want back.
	for i := 1; i < size; i++ {
		r := (e.rank + i) % size
		var ok bool
		if g.ins[r], g.outs[r], ok = e.w.lanes[r][e.rank].borrow(); !ok {
			e.giveBack(broken)
			m.On(r)
			<-e.stop.Done() // what ended that rank's operation reaches this one too
			return errors.Join(e.stop.Err(), errRevoked)
		}
	}
	if m.Combining != nil {
		m.Combining(true)
	}
	from, to := g.plan(e.rank)
	e.w.board.share(e.rank, int64(to-from), partOf(int64(to-from), false), g.part)
	if m.Combining != nil {
		m.Combining(false)
	}
	if err := e.stop.Err(); err != nil {
		e.giveBack(broken) // the block may not be whole
		return err
	}
	e.giveBack(empty)
	for i := 1; i < size; i++ {
		r := (e.rank + i) % size
		m.On(r)
		if err := e.w.lanes[e.rank][r].flush(e.stop); err != nil {
			return err
		}
	}
	return nil
}

// plan says where rank r's block lies, and how it is gone through.
func (g *merging) plan(r int) (from, to int) {
	n, size := len(g.with.In), len(g.ins)
	results := size * n
	from, to = mergeBlock(n, r, size)
	g.apart = 0
	switch g.with.To {
	case transport.ToRoot:
		results, g.only = n, g.with.Root
	case transport.ToBlocks:
		results, g.only = n, r
		from, to = r*(n/size), (r+1)*(n/size)
		g.apart = from
		for other := range g.outs {
			if other != r {
				g.outs[other] = nil
			}
		}
	}
	g.base, g.piece = from, mergePiece
	if size*n+results >= mergeLong {
		g.piece = longPiece
	}
	g.past = size*n+results >= mergePast
	if g.with.To != transport.ToAll {
		g.past = g.past && &g.outs[g.only][0] != &g.ins[g.only][g.apart] // in place its lines are in the caches already
	}
	g.direct = g.direct[:0]
	if g.past && size <= directMost && g.with.Past != nil && !g.inPlace() {
		for _, out := range g.outs {
			if len(out) > 0 {
				g.direct = append(g.direct, out)
			}
		}
	}
	return from, to
}

// inPlace says whether a result is where its rank's vector is.
func (g *merging) inPlace() bool {
	for r, out := range g.outs {
		if len(out) > 0 && &out[0] == &g.ins[r][g.apart] {
			return true
		}
	}
	return false
}

// mergePart combines a part of the own block.
func (e *endpoint) mergePart(from, to int) {
	g := &e.merging
	if len(g.direct) > 0 && e.mergeDirectly(from+g.base, to+g.base) {
		return
	}
	room := e.w.rooms.Get().(*[]byte)
	defer e.w.rooms.Put(room)
	for from, to = from+g.base, to+g.base; from < to && e.stop.Err() == nil; from += g.piece {
		n := min(g.piece, to-from)
		w := 1 << bits.Len(uint(len(g.ins)-1))
		if g.with.To != transport.ToAll && !g.past {
			into := g.outs[g.only][from-g.apart:][:n]
			g.with.Combine(into, g.fold(from, n, 0, w/2, *room), g.fold(from, n, w/2, w/2, (*room)[longPiece:]))
			continue
		}
		sum := g.fold(from, n, 0, w, *room)
		for r, out := range g.outs {
			switch {
			case len(out) == 0: // this rank has no result
			case g.past && &out[0] != &g.ins[r][g.apart]:
				pastcopy.Copy(out[from-g.apart:][:n], sum)
			default:
				copy(out[from-g.apart:][:n], sum)
			}
		}
	}
	if g.past {
		pastcopy.Fence()
	}
}

// mergeDirectly combines bytes [from, to) of all vectors past the caches, or says that it cannot.
func (e *endpoint) mergeDirectly(from, to int) bool {
	g := &e.merging
	var into, of [directMost][]byte
	for ; from < to && e.stop.Err() == nil; from += directPiece {
		end := min(from+directPiece, to)
		for r, out := range g.direct {
			into[r] = out[from-g.apart : end-g.apart]
		}
		for r, in := range g.ins {
			of[r] = in[from:end]
		}
		if !g.with.Past(into[:len(g.direct)], of[:len(g.ins)]) {
			return false
		}
	}
	pastcopy.Fence()
	return true
}

// fold combines n bytes of w ranks from the first on, w a power of two, in the order of the canonical tree over
// ranks. What more than one come to is at the begin of room.
func (g *merging) fold(from, n, first, w int, room []byte) []byte {
	if w == 1 {
		return g.ins[first][from : from+n]
	}
	w /= 2
	low := g.fold(from, n, first, w, room)
	if first+w >= len(g.ins) {
		return low
	}
	high := g.fold(from, n, first+w, w, room[longPiece:])
	g.with.Combine(room[:n], low, high)
	return room[:n]
}

// newRoom is room for what fold has of one piece of the vectors of n ranks.
func newRoom(n int) *[]byte {
	room := make([]byte, bits.Len(uint(n))*longPiece+63)
	room = room[-uintptr(unsafe.Pointer(&room[0]))&63:]
	return &room
}

// giveBack ends what was borrowed of the other ranks.
func (e *endpoint) giveBack(state uint32) {
	for r := range e.merging.ins {
		if r == e.rank || e.merging.ins[r] == nil {
			continue
		}
		l := &e.w.lanes[r][e.rank]
		s := &l.slots[(l.read-1)%depth]
		s.payload, s.result = nil, nil
		s.state.Store(state)
		l.writer.wake()
	}
}

// lend shows this rank's vectors to the reader.
func (l *lane) lend(h *transport.Header, in, out []byte, stop *transport.Stop) error {
	s := &l.slots[l.posted%depth]
	if err := l.writer.wait(&s.state, empty, l, stop); err != nil {
		return err
	}
	s.result = out
	return l.post(h, in, stop)
}

// lent waits for the vectors of the writer, or takes a message that is none of them.
func (l *lane) lent(from int, want *transport.Header, stop *transport.Stop) error {
	s := &l.slots[l.read%depth]
	if err := l.reader.wait(&s.state, full, l, stop); err != nil {
		return err
	}
	err := transport.Check(from, want, &s.header)
	if err != nil && s.state.CompareAndSwap(full, taken) {
		l.read++
		s.payload, s.result = nil, nil
		s.state.Store(empty)
		l.writer.wake()
	}
	return err
}

// borrow takes them, unless they were taken back.
func (l *lane) borrow() (in, out []byte, ok bool) {
	s := &l.slots[l.read%depth]
	if !s.state.CompareAndSwap(full, taken) {
		return nil, nil, false
	}
	l.read++
	return s.payload, s.result, true
}
