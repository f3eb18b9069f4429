package algorithm

// The pairwise or round-robin schedules: in round i every rank sends to the one i on and
// receives from the one i back, so no rank is the target of two at once. An AllReduce
// moves a ring's bytes without waiting for what came the round before. Source for it:
// Zhao and Canny, "Sparse allreduce: efficient scalable communication for power-law
// data", 2013, who call it round-robin reduce.

// lanes are where blocks of an AllToAll start in Input and in Output.
func lanes(c *Call) (in, out blocks) {
	in = c.offsets()
	if c.Recvs == nil {
		return in, in
	}
	return in, blocksOf(c.Size, 0, c.Recvs)
}

func pairwiseAllToAll(c *Call) Plan { return allToAll(c, true) }

// linearAllToAll has all messages in one round.
func linearAllToAll(c *Call) Plan { return allToAll(c, false) }

func allToAll(c *Call, rounds bool) Plan {
	return plan(0, func(f *flow) {
		in, out := lanes(c)
		f.copyLate(out.block(Output, c.Rank), in.block(Input, c.Rank))
		for i := 1; i < c.Size; i++ {
			to, from := (c.Rank+i)%c.Size, (c.Rank+c.Size-i)%c.Size
			f.send(to, in.block(Input, to))
			if rounds {
				f.recv(from, out.block(Output, from))
				f.next()
			}
		}
		if rounds {
			return
		}
		// Ranks that share a processor, which is those of even distance where each of two
		// has every other rank, have to take turns: they are waited for first, and what the
		// rest sends comes meanwhile.
		for _, first := range [...]int{2, 1} {
			for i := first; i < c.Size; i += 2 {
				from := (c.Rank + c.Size - i) % c.Size
				f.recv(from, out.block(Output, from))
			}
		}
	})
}

// pairwiseReduceScatter adds one rank's contribution to the own block a round.
func pairwiseReduceScatter(c *Call) Plan {
	if c.Deterministic {
		return directReduceScatter(c)
	}
	return plan(0, func(f *flow) {
		at := c.offsets()
		f.pairwiseReduceScatter(c, &at, Range{Output, 0, c.block(c.Rank)})
	})
}

// pairwiseReduceScatter puts the own block's sum into out.
func (f *flow) pairwiseReduceScatter(c *Call, at *blocks, out Range) {
	so := at.block(Input, c.Rank)
	for i := 1; i < c.Size; i++ {
		to, from := (c.Rank+i)%c.Size, (c.Rank+c.Size-i)%c.Size
		f.send(to, at.block(Input, to))
		f.reduce(from, Left, out, so)
		f.next()
		if out.Len > 0 {
			so = out
		}
	}
	f.copy(out, so)
}

// pairwiseAllGather hands the own block, which is in Output, to one rank a round.
func (f *flow) pairwiseAllGather(c *Call, at *blocks) {
	for i := 1; i < c.Size; i++ {
		to, from := (c.Rank+i)%c.Size, (c.Rank+c.Size-i)%c.Size
		f.send(to, at.block(Output, c.Rank))
		f.recv(from, at.block(Output, from))
		f.next()
	}
}

func pairwiseAllReduce(c *Call) Plan {
	if c.Size == 1 {
		return alone(c)
	}
	at := shares(c)
	scratch := int64(0)
	if c.Deterministic {
		scratch = exchangeScratch(&at)
	}
	return plan(scratch, func(f *flow) {
		if own := at.block(Output, c.Rank); c.Deterministic {
			f.exchangeAndFold(c, &at, own)
		} else {
			f.pairwiseReduceScatter(c, &at, own)
		}
		f.pairwiseAllGather(c, &at)
	})
}

func pairwiseAllGather(c *Call) Plan {
	return plan(0, func(f *flow) {
		at := c.offsets()
		f.copy(at.block(Output, c.Rank), Range{Input, 0, c.block(c.Rank)})
		f.pairwiseAllGather(c, &at)
	})
}
