package algorithm

// oneLevel says that there is nothing between a machine and all ranks.
func oneLevel(m *Machines) bool { return m == nil || m.each == 1 }

// onMachine are the ranks whose blocks a machine has; of a rank on it, itself.
func (m *Machines) onMachine(i int) []int { return m.members[i] }

// itself is the rank of one place among ranks.
func itself(ranks []int) func(i int) []int { return func(i int) []int { return ranks[i : i+1] } }

// inPlace are the ranks of one place on all machines.
func (m *Machines) inPlace(place int) []int { return m.byPlace[place*m.Len() : (place+1)*m.Len()] }

// short says that what a level's blocks have together is sent in few rounds rather than by short ways; see laneCount.
func (c *Call) short() bool { return c.all() < laneCount }

// all is how many elements a call's blocks have together.
func (c *Call) all() int64 { return c.offset(c.Size-1) + c.block(c.Size-1) }

// levelReduceScatter is that among the ranks of a level.
func levelReduceScatter(c *Call) Plan {
	if c.short() && c.Size&(c.Size-1) == 0 {
		return halvingReduceScatter(c)
	}
	return pairwiseReduceScatter(c)
}

// levelAllGather is that among the ranks of a level.
func levelAllGather(c *Call) Plan {
	if c.short() {
		return doublingAllGather(c)
	}
	return ringAllGather(c)
}

// hierarchicalReduceScatter: where all machines have as many ranks, a machine's ranks share the sums for all
// ranks in their place, and these add up each other's; else the leaders have all sums of their machine.
func hierarchicalReduceScatter(c *Call) Plan {
	m := c.machines()
	switch {
	case c.Deterministic:
		return directReduceScatter(c)
	case oneLevel(m):
		return pairwiseReduceScatter(c)
	case m.each == 0:
		return reduceScatterByLeaders(c, m)
	}
	p, local, others := newPacking(c, m.byPlace), localGroup(c), lane(c, m)
	inner := levelReduceScatter(c.among(ReduceScatter, local, 0, m.Len(), m.inPlace))
	outer := levelReduceScatter(c.among(ReduceScatter, others, 0, 1, itself(m.inPlace(local.own))))
	mine := p.places.run(Scratch, local.own*m.Len(), (local.own+1)*m.Len())
	all, own := Range{Scratch, 0, p.places.total}, Range{Output, 0, c.block(c.Rank)}
	mine.Off = all.Len
	rest := Range{Scratch, all.Len + mine.Len, max(inner.Scratch, outer.Scratch)}
	return plan(rest.Off+rest.Len, func(f *flow) {
		p.pack(f, all, Range{Input, 0, all.Len})
		f.embed(inner, local.rank, [3]Range{all, mine, rest})
		f.embed(outer, others.rank, [3]Range{mine, own, rest})
	})
}

func reduceScatterByLeaders(c *Call, m *Machines) Plan {
	p := newPacking(c, m.byMachine)
	local, leaders := groups(c, -1)
	all := p.ranks.total
	inner := binomialReduce(&Call{Op: Reduce, Rank: local.own, Size: local.size, Count: all})
	last := binomialScatter(c.among(Scatter, local, 0, 1, itself(m.members[m.of[c.Rank]])))
	outer, sums, packed, part := none, Range{}, Range{}, Range{}
	used := int64(0)
	if leaders.own >= 0 {
		across := c.among(ReduceScatter, leaders, 0, 0, m.onMachine)
		outer = levelReduceScatter(across)
		sums, part = Range{Scratch, 0, all}, Range{Scratch, all, across.block(leaders.own)}
		packed, used = sums, all+part.Len
		if !m.runs {
			packed = Range{Scratch, used, all}
			used += all
		}
	}
	rest := Range{Scratch, used, max(inner.Scratch, outer.Scratch, last.Scratch)}
	return plan(used+rest.Len, func(f *flow) {
		f.embed(inner, local.rank, [3]Range{{Input, 0, all}, sums, rest})
		if packed != sums {
			p.pack(f, packed, sums)
		}
		f.embed(outer, leaders.rank, [3]Range{packed, part, rest})
		f.embed(last, local.rank, [3]Range{part, {Output, 0, c.block(c.Rank)}, rest})
	})
}

// hierarchicalAllGather: where all machines have as many ranks, those in the same place gather each other's blocks, and a
// machine's ranks what these have; else the leaders have those of their machines, gather all and spread them.
func hierarchicalAllGather(c *Call) Plan {
	m := c.machines()
	switch {
	case oneLevel(m):
		return ringAllGather(c)
	case m.each == 0:
		return allGatherByLeaders(c, m)
	}
	p, local, others := newPacking(c, m.byPlace), localGroup(c), lane(c, m)
	outer := levelAllGather(c.among(AllGather, others, 0, 1, itself(m.inPlace(local.own))))
	inner := levelAllGather(c.among(AllGather, local, 0, m.Len(), m.inPlace))
	all, own := Range{Scratch, 0, p.places.total}, Range{Input, 0, c.block(c.Rank)}
	mine := p.places.run(Scratch, local.own*m.Len(), (local.own+1)*m.Len())
	return plan(all.Len, func(f *flow) {
		f.embed(outer, others.rank, [3]Range{own, mine, {}})
		f.embed(inner, local.rank, [3]Range{mine, all, {}})
		p.unpack(f, Range{Output, 0, all.Len}, all)
	})
}

func allGatherByLeaders(c *Call, m *Machines) Plan {
	p := newPacking(c, m.byMachine)
	local, leaders := groups(c, -1)
	first := binomialGather(c.among(Gather, local, 0, 1, itself(m.members[m.of[c.Rank]])))
	last := binomialBroadcast(&Call{Op: Broadcast, Rank: local.own, Size: local.size, Count: p.ranks.total, InPlace: true})
	out := Range{Output, 0, p.ranks.total}
	outer, all, part, used := none, out, Range{}, int64(0)
	if leaders.own >= 0 {
		across := c.among(AllGather, leaders, 0, 0, m.onMachine)
		outer = levelAllGather(across)
		if !m.runs {
			all, used = Range{Scratch, 0, out.Len}, out.Len
		}
		part = all.part(across.offset(leaders.own), across.block(leaders.own))
	}
	rest := Range{Scratch, used, first.Scratch}
	return plan(used+rest.Len, func(f *flow) {
		f.embed(first, local.rank, [3]Range{{Input, 0, c.block(c.Rank)}, part, rest})
		f.embed(outer, leaders.rank, [3]Range{part, all, {}})
		if all != out {
			p.unpack(f, out, all)
		}
		f.embed(last, local.rank, [3]Range{out, out, {}})
	})
}
