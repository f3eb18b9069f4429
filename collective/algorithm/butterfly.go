package algorithm

import "math/bits"

// The butterfly: recursive halving, in which the part of the vector that a rank
// combines halves with every round, then recursive doubling back. 2 log2(p)
// rounds and a ring's bytes. Source: Rabenseifner, "Optimization of collective
// reduction operations", 2004; here the distance doubles while the part halves,
// which combines in the canonical order.

// butterflyAllReduce folds the ranks above a power of two into their neighbours
// first and serves them last.
func butterflyAllReduce(c *Call) Plan {
	p := 1 << (bits.Len(uint(c.Size)) - 1)
	extra := c.Size - p
	if extra > 0 && c.Deterministic {
		at := shares(c)
		return plan(exchangeScratch(&at), func(f *flow) {
			f.exchangeAndFold(c, &at, at.block(Output, c.Rank))
			f.doublingAllGather(c, &at)
		})
	}
	return plan(0, func(f *flow) {
		whole := Range{Output, 0, c.Count}
		so := whole.in(Input)
		rank := func(v int) int { // of the v-th rank that takes part
			if v < extra {
				return 2 * v
			}
			return v + extra
		}
		v := c.Rank - extra
		if c.Rank < 2*extra {
			if c.Rank%2 == 1 {
				f.send(c.Rank-1, so)
				f.next()
				f.recv(c.Rank-1, whole)
				return
			}
			f.reduce(c.Rank+1, Right, whole, so)
			f.next()
			so = whole
			v = c.Rank / 2
		}
		f.halve(c, v, p, rank, so, whole)
		if c.Rank < 2*extra {
			f.send(c.Rank+1, whole)
		}
	})
}

// halve runs the butterfly of the p ranks named by rank, this one the v-th.
func (f *flow) halve(c *Call, v, p int, rank func(int) int, so, whole Range) {
	type span struct{ lo, hi int64 }
	part := span{0, c.Count}
	split := func(s span, high bool) (keep, give span) {
		mid := s.lo + (s.hi-s.lo+1)/2
		if high {
			return span{mid, s.hi}, span{s.lo, mid}
		}
		return span{s.lo, mid}, span{mid, s.hi}
	}
	var held []span
	for w := 1; w < p; w *= 2 {
		held = append(held, part)
		keep, give := split(part, v&w != 0)
		side := Right
		if v&w != 0 {
			side = Left
		}
		f.send(rank(v^w), so.part(give.lo, give.hi-give.lo))
		f.reduce(rank(v^w), side, whole.part(keep.lo, keep.hi-keep.lo), so.part(keep.lo, keep.hi-keep.lo))
		f.next()
		so, part = whole, keep
	}
	for w := p / 2; w >= 1; w /= 2 {
		before := held[len(held)-1]
		held = held[:len(held)-1]
		keep, give := split(before, v&w != 0)
		f.send(rank(v^w), whole.part(keep.lo, keep.hi-keep.lo))
		f.recv(rank(v^w), whole.part(give.lo, give.hi-give.lo))
		f.next()
	}
	f.copy(whole, so)
}

// halvingReduceScatter is the butterfly's first half, for a power of two ranks;
// for others it is the direct exchange. Blocks are first put in the order of their
// numbers' reversed bits, so that what a rank keeps is always one run.
func halvingReduceScatter(c *Call) Plan {
	if c.Size&(c.Size-1) != 0 {
		return directReduceScatter(c)
	}
	at := c.offsets()
	levels := bits.Len(uint(c.Size)) - 1
	reversed := func(i int) int { return int(bits.Reverse64(uint64(i)<<(63-levels)<<1) & uint64(c.Size-1)) }
	return plan(at.total, func(f *flow) {
		order := at // in Scratch, by reversed number
		if c.Counts != nil {
			counts := make([]int64, c.Size)
			for i := range counts {
				counts[i] = c.block(reversed(i))
			}
			order = blocksOf(c.Size, 0, counts)
		}
		for i := range c.Size {
			f.copy(order.block(Scratch, i), at.block(Input, reversed(i)))
		}
		f.next()
		lo, hi := 0, c.Size
		run := func(from, to int) Range { return order.run(Scratch, from, to) }
		for w := 1; w < c.Size; w *= 2 {
			mid := (lo + hi) / 2
			peer := c.Rank ^ w
			if c.Rank&w == 0 {
				f.send(peer, run(mid, hi))
				f.reduce(peer, Right, run(lo, mid), run(lo, mid))
				hi = mid
			} else {
				f.send(peer, run(lo, mid))
				f.reduce(peer, Left, run(mid, hi), run(mid, hi))
				lo = mid
			}
			f.next()
		}
		f.copy(Range{Output, 0, c.block(c.Rank)}, run(lo, hi))
	})
}
