package algorithm

// The pairwise schedules: in round i every rank sends to the one i on and receives
// from the one i back, so no rank is the target of two at once.

// lanes are where blocks of an AllToAll start in Input and in Output.
func lanes(c *Call) (in, out []int64) {
	in, out = c.offsets(), make([]int64, c.Size+1)
	for r := range c.Size {
		out[r+1] = out[r] + c.fromRank(r)
	}
	return in, out
}

// fromRank is how much rank r sends to this one in an AllToAll.
func (c *Call) fromRank(r int) int64 {
	if c.Recvs != nil {
		return c.Recvs[r]
	}
	return c.block(r)
}

func pairwiseAllToAll(c *Call) Plan { return allToAll(c, true) }

// linearAllToAll has all messages in one round.
func linearAllToAll(c *Call) Plan { return allToAll(c, false) }

func allToAll(c *Call, rounds bool) Plan {
	return plan(0, func(f *flow) {
		in, out := lanes(c)
		f.copy(Range{Output, out[c.Rank], c.block(c.Rank)}, Range{Input, in[c.Rank], c.block(c.Rank)})
		for i := 1; i < c.Size; i++ {
			to, from := (c.Rank+i)%c.Size, (c.Rank+c.Size-i)%c.Size
			f.send(to, Range{Input, in[to], c.block(to)})
			f.recv(from, Range{Output, out[from], c.fromRank(from)})
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
		so := Range{Input, at[c.Rank], out.Len}
		for i := 1; i < c.Size; i++ {
			to, from := (c.Rank+i)%c.Size, (c.Rank+c.Size-i)%c.Size
			f.send(to, Range{Input, at[to], c.block(to)})
			f.reduce(from, Left, out, so)
			f.next()
			if out.Len > 0 {
				so = out
			}
		}
		f.copy(out, so)
	})
}
