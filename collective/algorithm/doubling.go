package algorithm

// Recursive doubling: at level w, aligned groups of w ranks meet their neighbours
// and afterwards all ranks of both have what either had. log2 of Size rounds, for
// any number of ranks: in a last group that is not full each rank serves several.

// neighbours are the ranks that this one sends to and the one that it receives
// from at level w; mine and theirs are the groups. from is -1 where there is
// nothing to meet.
func neighbours(rank, size, w int) (to []int, from int, mine, theirs [2]int, lower bool) {
	a := rank / (2 * w) * (2 * w)
	left, right := [2]int{a, min(a+w, size)}, [2]int{min(a+w, size), min(a+2*w, size)}
	n := right[1] - right[0]
	if n == 0 {
		return nil, -1, left, right, true
	}
	if rank < right[0] {
		i := rank - a
		if i < n {
			to = []int{right[0] + i}
		}
		return to, right[0] + i%n, left, right, true
	}
	i := rank - right[0]
	for l := i; l < w; l += n {
		to = append(to, a+l)
	}
	return to, a + i, right, left, false
}

// doublingAllReduce sends the whole vector in each round and combines in the
// canonical order.
func doublingAllReduce(c *Call) Plan {
	meetings := 0
	for w := 1; w < c.Size; w *= 2 {
		if _, from, _, _, _ := neighbours(c.Rank, c.Size, w); from >= 0 {
			meetings++
		}
	}
	return plan(c.Count, func(f *flow) {
		// What is being sent must not be written, so results go to Output and
		// Scratch in turn, and to Output at last.
		out, other := Range{Output, 0, c.Count}, Range{Scratch, 0, c.Count}
		so := Range{Input, 0, c.Count}
		if meetings%2 == 0 {
			out, other = other, out
		}
		if c.InPlace && out.Space == Output && meetings > 0 {
			f.copy(other, so)
			so = other
		}
		for w := 1; w < c.Size; w *= 2 {
			to, from, _, _, lower := neighbours(c.Rank, c.Size, w)
			if from < 0 {
				continue
			}
			side := Left
			if lower {
				side = Right
			}
			for _, r := range to {
				f.send(r, so)
			}
			f.reduce(from, side, out, so)
			f.next()
			so, out, other = out, other, out
		}
		f.copy(Range{Output, 0, c.Count}, so)
	})
}

// doublingAllGather doubles the run of blocks that every rank has.
func doublingAllGather(c *Call) Plan {
	return plan(0, func(f *flow) {
		at := c.offsets()
		f.copy(at.block(Output, c.Rank), Range{Input, 0, c.block(c.Rank)})
		f.doublingAllGather(c, &at)
	})
}

func (f *flow) doublingAllGather(c *Call, at *blocks) {
	for w := 1; w < c.Size; w *= 2 {
		to, from, mine, theirs, _ := neighbours(c.Rank, c.Size, w)
		for _, r := range to {
			f.send(r, at.run(Output, mine[0], mine[1]))
		}
		if from >= 0 {
			f.recv(from, at.run(Output, theirs[0], theirs[1]))
		}
		f.next()
	}
}

// disseminationBarrier: in the round of width w every rank tells the one w on.
// Source: Hensgen, Finkel and Manber, "Two algorithms for barrier
// synchronization", 1988.
func disseminationBarrier(c *Call) Plan {
	return plan(2, func(f *flow) {
		for w := 1; w < c.Size; w *= 2 {
			f.send((c.Rank+w)%c.Size, Range{Scratch, 0, 1})
			f.recv((c.Rank+c.Size-w)%c.Size, Range{Scratch, 1, 1})
			f.next()
		}
	})
}
