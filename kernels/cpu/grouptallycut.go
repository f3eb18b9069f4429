package cpu

import (
	"math/bits"
	"sync/atomic"
)

// firstCut puts groups in order of their first rows where there may be nearly as
// many as rows: they are cut by these into pieces of rows, each with room for a
// group a row, as soon as the part that they are in is done. Within pieces, which
// second-level caches hold, they are put in order while they are written. It moves
// each group twice beside the result.
type firstCut[S float64 | int64] struct {
	all   vec[tallySlot[S]]
	next  []atomic.Uint32 // of each piece, where the next group goes
	shift uint            // of a row, its piece
}

func newFirstCut[S float64 | int64](t *tallying[S]) (*firstCut[S], error) {
	c := &firstCut[S]{shift: uint(max(bits.Len(rankedPiece-1), bits.Len64(uint64(t.n-1)/rankedParts)))}
	c.next = make([]atomic.Uint32, (t.n-1)>>c.shift+1)
	for i := range c.next {
		c.next[i].Store(uint32(i) << c.shift)
	}
	var err error
	c.all, err = newVec[tallySlot[S]](t.a, int(t.n))
	return c, err
}

// add cuts the groups of an array: place i is the word i<<shift|low. Several
// workers may do so at once; where in its piece a group comes is left to chance.
func (c *firstCut[S]) add(array []tally[S], shift uint, low uint64) {
	at, piece := make([]uint32, len(c.next)), (32+c.shift)&63
	for i := range array {
		if counts := array[i].counts; counts != 0 {
			at[counts>>piece]++
		}
	}
	for i, n := range at {
		if n > 0 {
			at[i] = c.next[i].Add(n) - n
		}
	}
	all := c.all.s
	for i := range array {
		t := &array[i]
		if t.counts == 0 {
			continue
		}
		to := &at[t.counts>>piece]
		all[*to] = tallySlot[S]{uint64(i)<<(shift&63) | low, *t}
		*to++
	}
}

// put writes the results.
func (c *firstCut[S]) put(t *tallying[S]) error {
	starts := make([]int, len(c.next)+1)
	for i := range c.next {
		starts[i+1] = starts[i] + int(c.next[i].Load()-uint32(i)<<c.shift)
	}
	if err := t.out.start(starts[len(c.next)]); err != nil {
		return err
	}
	type scratch struct {
		*ranks
		room vec[tallySlot[S]]
	}
	rooms := perWorker[scratch]{make: func() (s scratch, err error) {
		if s.ranks, err = newRanks(t.a, 1<<c.shift); err == nil {
			s.room, err = newVec[tallySlot[S]](t.a, 1<<c.shift)
		}
		return s, err
	}}
	err := tasks(t.ctx, len(c.next), func(worker, i int) error {
		s, err := rooms.of(worker)
		if err != nil {
			return err
		}
		from, n := i<<c.shift, starts[i+1]-starts[i]
		groups, words := c.all.s[from:from+n], s.first.s
		clear(words)
		for k := range groups {
			row := groups[k].counts>>32 - uint64(from)
			words[row>>6] |= 1 << (row & 63)
		}
		s.count()
		for k := range groups {
			g := groups[k]
			to := s.of(uint32(g.counts>>32 - uint64(from)))
			g.counts = uint64(uint32(g.counts)) * oneValue
			s.room.s[to] = g
		}
		b, _ := t.rooms.get()
		defer t.rooms.put(b)
		t.out.putSlots(b, starts[i], s.room.s[:n])
		return nil
	})
	for _, s := range rooms.all {
		s.free(t.a)
		t.a.drop(s.room.b)
	}
	t.a.drop(c.all.b)
	return err
}
