package algorithm

// The ring schedules: rank r sends to r+1 and receives from r-1 only. Every link
// carries the same bytes in every one of the Size-1 rounds, 2(p-1)/p of the vector
// for an AllReduce, which is the least there can be; the rounds make them slow for
// short vectors. Source: Patarasu and Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations", 2009. A block is combined in the order
// of the ring, starting behind its owner: only for operations that commute.

// ringReduceScatter walks the Size-1 rounds in which the sum of block b starts at
// rank b+1 and ends at b. partial is where the own sum of a block may be kept
// between two rounds, last where the rank's own block goes.
func (f *flow) ringReduceScatter(c *Call, at *blocks, partial func(block int) Range, last Range) {
	p := c.Size
	next, prev := (c.Rank+1)%p, (c.Rank+p-1)%p
	block := func(b int) Range { return at.block(Input, b) }
	for s := range p - 1 {
		out, in := (c.Rank+2*p-1-s)%p, (c.Rank+2*p-2-s)%p
		from := block(out)
		if s > 0 {
			from = partial(out)
		}
		into := last
		if s < p-2 {
			into = partial(in)
		}
		f.send(next, from)
		f.reduce(prev, Left, into, block(in))
		f.next()
	}
}

// ringAllGather walks the Size-1 rounds in which every block goes round; each
// rank's own one is in Output already.
func (f *flow) ringAllGather(c *Call, at *blocks) {
	p := c.Size
	next, prev := (c.Rank+1)%p, (c.Rank+p-1)%p
	for s := range p - 1 {
		out, in := (c.Rank+p-s)%p, (c.Rank+2*p-1-s)%p
		f.send(next, at.block(Output, out))
		f.recv(prev, at.block(Output, in))
		f.next()
	}
}

func ringAllReduce(c *Call) Plan {
	if c.Size == 1 {
		return alone(c)
	}
	at := shares(c)
	scratch := int64(0)
	if c.Deterministic {
		scratch = exchangeScratch(&at)
	}
	return plan(scratch, func(f *flow) {
		partial := func(b int) Range { return at.block(Output, b) }
		if c.Deterministic {
			f.exchangeAndFold(c, &at, partial(c.Rank))
		} else {
			f.ringReduceScatter(c, &at, partial, partial(c.Rank))
		}
		f.ringAllGather(c, &at)
	})
}

func ringReduceScatter(c *Call) Plan {
	if c.Size == 1 {
		return alone(c)
	}
	if c.Deterministic {
		return directReduceScatter(c)
	}
	at := c.offsets()
	longest := at.longest()
	return plan(2*longest, func(f *flow) {
		// Two places in turn: what came in the last round goes out while the next comes in.
		partial := func(b int) Range {
			return Range{Scratch, int64((c.Rank+2*c.Size-b)%c.Size%2) * longest, at.block(Input, b).Len}
		}
		f.ringReduceScatter(c, &at, partial, Range{Output, 0, c.block(c.Rank)})
	})
}

func ringAllGather(c *Call) Plan {
	return plan(0, func(f *flow) {
		at := c.offsets()
		f.copy(at.block(Output, c.Rank), Range{Input, 0, c.block(c.Rank)})
		f.ringAllGather(c, &at)
	})
}

// alone is the schedule of a communicator of one rank.
func alone(c *Call) Plan {
	return plan(0, func(f *flow) {
		f.copy(Range{Output, 0, c.OutputLen()}, Range{Input, 0, c.OutputLen()})
	})
}
