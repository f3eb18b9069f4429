package algorithm

// The chain schedules cut the vector into pieces, each of which goes from rank to
// rank, so that all links are busy at once: p-2 rounds longer than the pieces are
// many. For long vectors, one copy in and one out of every rank, they come near
// the link's bandwidth whatever the number of ranks.

// defaultChunk is the length of a piece where the call names none: long enough to
// hide a message's latency.
const defaultChunk = 1 << 15

func pieces(c *Call) (n int, piece func(i int) Range) {
	chunk := c.Chunk
	if chunk <= 0 {
		chunk = defaultChunk
	}
	n = int((c.Count + chunk - 1) / chunk)
	return n, func(i int) Range {
		lo := int64(i) * chunk
		return Range{Output, lo, min(chunk, c.Count-lo)}
	}
}

// in is the same window of another array.
func (r Range) in(s Space) Range { return Range{s, r.Off, r.Len} }

func chainBroadcast(c *Call) Plan {
	return plan(0, func(f *flow) {
		p := c.Size
		place := (c.Rank - c.Root + p) % p
		next, prev := (c.Rank+1)%p, (c.Rank+p-1)%p
		n, piece := pieces(c)
		if place == 0 {
			for i := range n {
				if p > 1 {
					f.send(next, piece(i).in(Input))
				}
				f.next()
			}
			f.copy(Range{Output, 0, c.Count}, Range{Input, 0, c.Count})
			return
		}
		for i := range n + 1 {
			if i < n {
				f.recv(prev, piece(i))
			}
			if i > 0 && place < p-1 {
				f.send(next, piece(i-1))
			}
			f.next()
		}
	})
}

// chainReduce runs towards the root; the rank behind the root starts.
func chainReduce(c *Call) Plan {
	if c.Deterministic {
		return gatherAndFold(c)
	}
	chunk := c.Chunk
	if chunk <= 0 {
		chunk = defaultChunk
	}
	return plan(2*min(chunk, c.Count), func(f *flow) {
		p := c.Size
		if p == 1 {
			f.copy(Range{Output, 0, c.Count}, Range{Input, 0, c.Count})
			return
		}
		place := (c.Rank - c.Root - 1 + p) % p // 0 starts, p-1 is the root
		next, prev := (c.Rank+1)%p, (c.Rank+p-1)%p
		n, piece := pieces(c)
		if place == 0 {
			for i := range n {
				f.send(next, piece(i).in(Input))
				f.next()
			}
			return
		}
		for i := range n + 1 {
			held := func(i int) Range {
				if place == p-1 {
					return piece(i)
				}
				return Range{Scratch, int64(i%2) * min(chunk, c.Count), piece(i).Len}
			}
			if i < n {
				f.reduce(prev, Left, held(i), piece(i).in(Input))
			}
			if i > 0 && place < p-1 {
				f.send(next, held(i-1))
			}
			f.next()
		}
	})
}
