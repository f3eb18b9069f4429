package cpu

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// pairRecord is a left row and what its right one carries.
type pairRecord struct{ row, value uint64 }

// sinkShare is how many pairs of a piece are cut at a time, of usual keys: of 2048
// pieces, 4 MiB of pairs.
const sinkShare = 128

// pairCuts are the pairs of a join by pieces of left rows. Each worker cuts the pairs
// that it has found whenever there are step of them, so that a piece has a run of
// pairs in every cut. Pairs of one left row are found by one worker, one after
// another, so that they keep the order of right rows. Runs lie in slabs of neighbouring pieces,
// of the size of a block of records: they lie where records lay.
type pairCuts struct {
	l      *loops
	a      *arena
	shift  uint // of a left row, its piece
	fold   uint // of a piece, its group
	lined  bool
	step   int // pairs that are cut at a time
	slab   int // pairs of a slab
	limit  kernels.JoinOptions
	pairs  []int // of each piece
	total  atomic.Int64
	mu     sync.Mutex
	groups []slabGroup
	cuts   []*pairCut
	gone   int // groups that were given back
}

// slabGroup is the slabs of a group of pieces.
type slabGroup struct {
	slabs []vec[pairRecord]
	used  int // of the last slab
}

// pairCut is where a cut's pairs are: for each group those of its pieces, one after
// another, each up to its end.
type pairCut struct {
	ends   vec[uint32]
	groups []*pairRecord
}

func newPairCuts(j *columnsJoin, shift uint, fold int, o kernels.JoinOptions) *pairCuts {
	pieces := int((j.left.n-1)>>shift) + 1
	c := &pairCuts{l: j.l, a: j.a, shift: shift, fold: uint(fold), slab: j.left.room, limit: o, pairs: make([]int, pieces),
		step: max(1<<13, sinkShare*pieces)}
	c.groups = make([]slabGroup, (pieces-1)>>fold+1)
	from := j.l.lines.joinFrom
	c.lined = from > 0 && j.left.n >= int64(from) && pieces > 1
	return c
}

// take is room for n pairs of a group, which begins a line of the caches.
func (c *pairCuts) take(group, n int) (*pairRecord, error) {
	if n == 0 {
		return nil, nil
	}
	g := &c.groups[group]
	if k := len(g.slabs); k == 0 || len(g.slabs[k-1].s)-g.used < n {
		v, err := newVec[pairRecord](c.a, max(c.slab, n))
		if err != nil {
			return nil, err
		}
		g.slabs, g.used = append(g.slabs, v), 0
	}
	at := unsafe.SliceData(g.slabs[len(g.slabs)-1].s[g.used:])
	g.used = min(len(g.slabs[len(g.slabs)-1].s), (g.used+n+3)&^3)
	return at, nil
}

// end counts the pairs of pieces.
func (c *pairCuts) end() error {
	for _, cut := range c.cuts {
		for piece := range c.pairs {
			from, to := c.within(cut, piece)
			c.pairs[piece] += to - from
		}
	}
	for _, n := range c.pairs {
		if c.limit.MaxPairs > 0 && n > orderedMost {
			return &kernels.PairsError{Pairs: int64(n), Max: orderedMost}
		}
	}
	return nil
}

// within is where a piece's pairs of a cut are within those of its group.
func (c *pairCuts) within(cut *pairCut, piece int) (from, to int) {
	if piece&(1<<c.fold-1) != 0 {
		from = int(cut.ends.s[piece-1])
	}
	return from, int(cut.ends.s[piece])
}

// run is a piece's pairs of a cut.
func (c *pairCuts) run(cut *pairCut, piece int) []pairRecord {
	from, to := c.within(cut, piece)
	return unsafe.Slice(cut.groups[piece>>c.fold], to)[from:]
}

// drop gives back the slabs of groups of which all pieces are before one.
func (c *pairCuts) drop(piece int) {
	for ; c.gone < len(c.groups) && (piece >= (c.gone+1)<<c.fold || piece == len(c.pairs)); c.gone++ {
		for _, s := range c.groups[c.gone].slabs {
			c.a.drop(s.b)
		}
		c.groups[c.gone].slabs = nil
	}
}

// place puts a piece's pairs where they belong, the first one at a place of rows and
// values. It reports whether no left row has two.
func (c *pairCuts) place(piece int, counts []uint32, at int, rows []uint32, values *memory.Buffer, width int) (once bool) {
	base := uint64(piece) << c.shift
	clear(counts)
	for _, cut := range c.cuts {
		for _, p := range c.run(cut, piece) {
			counts[p.row-base]++
		}
	}
	sum, more := uint32(at), uint32(0)
	for i, k := range counts {
		counts[i] = sum
		sum += k
		more |= k >> 1
	}
	for _, cut := range c.cuts {
		run := c.run(cut, piece)
		switch width {
		case 0:
			placePairs[uint8](run, base, counts, rows, nil)
		case 1:
			placePairs(run, base, counts, rows, memory.View[uint8](values))
		case 2:
			placePairs(run, base, counts, rows, memory.View[uint16](values))
		case 4:
			placePairs(run, base, counts, rows, memory.View[uint32](values))
		default:
			placePairs(run, base, counts, rows, memory.View[uint64](values))
		}
	}
	return more == 0
}

func placePairs[T uint8 | uint16 | uint32 | uint64](run []pairRecord, base uint64, next, rows []uint32, values []T) {
	if values == nil {
		for _, p := range run {
			to := &next[p.row-base]
			rows[*to] = uint32(p.row)
			*to++
		}
		return
	}
	for _, p := range run {
		to := &next[p.row-base]
		rows[*to], values[*to] = uint32(p.row), T(p.value)
		*to++
	}
}

// pairSink is a worker's pairs that are not cut yet.
type pairSink struct {
	cuts         *pairCuts
	n            int
	rows, values vec[uint64]
	counts       vec[uint32]
	lines        recordLines
}

func newPairSink(a *arena, c *pairCuts) (s *pairSink, err error) {
	s = &pairSink{cuts: c}
	if s.rows, err = newVec[uint64](a, c.step); err == nil {
		s.values, err = newVec[uint64](a, c.step)
	}
	if err == nil {
		s.counts, err = newVec[uint32](a, countersRoom(len(c.pairs), c.step))
	}
	return s, err
}

func (s *pairSink) put(p *joinPairs, n int) error {
	for from := 0; from < n; {
		k := copy(s.rows.s[s.n:], p.left[from:n])
		copy(s.values.s[s.n:], p.right[from:n])
		from += k
		if s.n += k; s.n == s.cuts.step {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush cuts the pairs.
func (s *pairSink) flush() error {
	c, n := s.cuts, s.n
	if n == 0 {
		return nil
	}
	if most := c.limit.MaxPairs; most > 0 && c.total.Add(int64(n)) > most {
		return &kernels.PairsError{Pairs: most + 1, Max: most} // or more
	}
	pieces := len(c.pairs)
	clear(s.counts.s)
	rows, values := s.rows.s[:n], s.values.s[:n]
	c.l.histogram.u64(countersOf(s.counts.s, pieces), rows, digit{shift: c.shift, mask: 1<<32 - 1})
	next := sumTables(s.counts.s, 1, pieces)
	cut := &pairCut{}
	if err := c.add(cut, next); err != nil {
		return err
	}
	if c.lined {
		s.lines.blocks, s.lines.shift, s.lines.mask, s.lines.fold = wordsOf(cut.groups), c.shift, 1<<bits.Len(uint(pieces-1))-1, c.fold
		s.lines.begin(next)
		s.lines.put(&c.l.lines, rows, values)
		s.lines.end(&c.l.lines, next)
	} else {
		shift, fold := c.shift&63, c.fold&63
		for i, row := range rows {
			piece := row >> shift
			at := &next[piece]
			*(*pairRecord)(unsafe.Add(unsafe.Pointer(cut.groups[piece>>fold]), uintptr(*at)<<4)) = pairRecord{row, values[i]}
			*at++
		}
	}
	copy(cut.ends.s, next)
	s.n = 0
	return nil
}

// add makes room for a cut of so many pairs of each piece, and turns their numbers
// into where they begin within their group.
func (c *pairCuts) add(cut *pairCut, counts []uint32) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cut.ends, err = newVec[uint32](c.a, len(counts)); err != nil {
		return err
	}
	cut.groups = make([]*pairRecord, len(c.groups))
	for g := range cut.groups {
		sum := uint32(0)
		for piece := g << c.fold; piece < min(len(counts), (g+1)<<c.fold); piece++ {
			k := counts[piece]
			counts[piece] = sum
			sum += k
		}
		if cut.groups[g], err = c.take(g, int(sum)); err != nil {
			return err
		}
	}
	c.cuts = append(c.cuts, cut)
	return nil
}

// wordsOf are pointers to pairs as those to their first words.
func wordsOf(pairs []*pairRecord) []*uint64 {
	return unsafe.Slice((**uint64)(unsafe.Pointer(unsafe.SliceData(pairs))), len(pairs))
}
