package algorithm

// The linear schedules: the root talks with every other rank itself. One message
// deep and Size-1 messages wide at the root, so they suit few ranks, and blocks
// of very unequal length.

func linearBroadcast(c *Call) Plan {
	return plan(0, func(f *flow) {
		out := Range{Output, 0, c.Count}
		if c.Rank != c.Root {
			f.recv(c.Root, out)
			return
		}
		in := Range{Input, 0, c.Count}
		for i := 1; i < c.Size; i++ {
			f.send((c.Root+i)%c.Size, in)
		}
		f.copyLate(out, in)
	})
}

// linearReduce combines the ranks' vectors at the root one after another, the
// root's neighbours first, so that the order of ranks is kept.
func linearReduce(c *Call) Plan {
	if c.Deterministic {
		return gatherAndFold(c)
	}
	return plan(0, func(f *flow) {
		in, out := Range{Input, 0, c.Count}, Range{Output, 0, c.Count}
		if c.Rank != c.Root {
			f.send(c.Root, in)
			return
		}
		so := in
		for r := c.Root - 1; r >= 0; r-- {
			f.reduce(r, Left, out, so)
			f.next()
			so = out
		}
		for r := c.Root + 1; r < c.Size; r++ {
			f.reduce(r, Right, out, so)
			f.next()
			so = out
		}
		f.copy(out, so)
	})
}

func linearGather(c *Call) Plan {
	return plan(0, func(f *flow) {
		if c.Rank != c.Root {
			f.send(c.Root, Range{Input, 0, c.block(c.Rank)})
			return
		}
		at := c.offsets()
		f.copy(at.block(Output, c.Rank), Range{Input, 0, c.block(c.Rank)})
		for i := 1; i < c.Size; i++ {
			r := (c.Root + i) % c.Size
			f.recv(r, at.block(Output, r))
		}
	})
}

func linearScatter(c *Call) Plan {
	return plan(0, func(f *flow) {
		own := Range{Output, 0, c.block(c.Rank)}
		if c.Rank != c.Root {
			f.recv(c.Root, own)
			return
		}
		at := c.offsets()
		for i := 1; i < c.Size; i++ {
			r := (c.Root + i) % c.Size
			f.send(r, at.block(Input, r))
		}
		f.copyLate(own, at.block(Input, c.Rank))
	})
}

// linearAllGather sends the rank's block to every other rank at once.
func linearAllGather(c *Call) Plan {
	return plan(0, func(f *flow) {
		at := c.offsets()
		in := Range{Input, 0, c.block(c.Rank)}
		f.copyLate(at.block(Output, c.Rank), in)
		for i := 1; i < c.Size; i++ {
			f.send((c.Rank+i)%c.Size, in)
		}
		for i := 1; i < c.Size; i++ {
			r := (c.Rank + c.Size - i) % c.Size
			f.recv(r, at.block(Output, r))
		}
	})
}

// linearBarrier sends a token to rank 0 and waits for one from it.
func linearBarrier(c *Call) Plan {
	return plan(int64(c.Size), func(f *flow) {
		if c.Rank != 0 {
			f.send(0, Range{Scratch, 0, 1})
			f.next()
			f.recv(0, Range{Scratch, 1, 1})
			return
		}
		for r := 1; r < c.Size; r++ {
			f.recv(r, Range{Scratch, int64(r), 1})
		}
		f.next()
		for r := 1; r < c.Size; r++ {
			f.send(r, Range{Scratch, 0, 1})
		}
	})
}
