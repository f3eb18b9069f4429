package algorithm

// The pairwise schedules: in round i every rank sends to the one i on and receives
// from the one i back, so no rank is the target of two at once.

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
			f.recv(from, out.block(Output, from))
			if rounds {
				f.next()
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
		out := Range{Output, 0, c.block(c.Rank)}
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
	})
}
