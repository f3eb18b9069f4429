package algorithm

// Bruck's schedules: log2 of Size rounds for any number of ranks, paid for with
// copies on the way in and out. For short blocks. Source: Bruck, Ho, Kipnis,
// Upfal and Weathersby, "Efficient algorithms for all-to-all communications in
// multiport message-passing systems", 1997.

// bruckAllGather: after the round of width w a rank has 2w blocks from its own on.
func bruckAllGather(c *Call) Plan {
	p := c.Size
	out := c.offsets()
	held := out.from(c.Rank) // in Scratch, counted from the own block
	return plan(held.total, func(f *flow) {
		run := func(from, to int) Range { return held.run(Scratch, from, to) }
		f.copy(run(0, 1), Range{Input, 0, held.at(1)})
		for w := 1; w < p; w *= 2 {
			n := min(w, p-w)
			f.send((c.Rank+p-w)%p, run(0, n))
			f.recv((c.Rank+w)%p, run(w, w+n))
			f.next()
		}
		for i := range p {
			f.copy(out.block(Output, (c.Rank+i)%p), run(i, i+1))
		}
	})
}

// bruckAllToAll sends, in the round of width w, all blocks whose way has bit w
// set; blocks of equal length only.
func bruckAllToAll(c *Call) Plan {
	if c.Counts != nil {
		return pairwiseAllToAll(c)
	}
	p, n := c.Size, c.Count
	return plan(3*int64(p)*n, func(f *flow) {
		held := func(i int) Range { return Range{Scratch, int64(i) * n, n} }
		for i := range p {
			f.copy(held(i), Range{Input, int64((c.Rank+i)%p) * n, n})
		}
		for w := 1; w < p; w *= 2 {
			out, in := Range{Scratch, int64(p) * n, 0}, Range{Scratch, 2 * int64(p) * n, 0}
			for i := w; i < p; i++ {
				if i&w != 0 {
					f.copy(Range{Scratch, out.Off + out.Len, n}, held(i))
					out.Len += n
				}
			}
			in.Len = out.Len
			f.next()
			f.send((c.Rank+w)%p, out)
			f.recv((c.Rank+p-w)%p, in)
			f.next()
			for i := w; i < p; i++ {
				if i&w != 0 {
					f.copy(held(i), Range{Scratch, in.Off, n})
					in.Off += n
				}
			}
		}
		for i := range p {
			f.copy(Range{Output, int64((c.Rank+p-i)%p) * n, n}, held(i))
		}
	})
}
