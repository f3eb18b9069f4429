package algorithm

// The hierarchical schedules stay on a machine as long as they can: the ranks of
// one machine meet first, one of each machine (its lowest) meets the others, and
// then each machine's ranks get what came. Where all are on one machine, they are
// the inner schedule alone.

// group is some ranks of a call, numbered anew.
type group struct {
	size int
	own  int           // the number of this rank, -1 where it is not among them
	rank func(int) int // the rank of the call with a number
}

// groups are the ranks of this rank's machine and, one of each, the machines'
// leaders: the root where it is given, else the lowest rank.
func groups(c *Call, root int) (local, leaders group) {
	same := func(r int) int { return r }
	m := c.machines()
	if m == nil {
		lead := max(0, root)
		leaders = group{1, -1, func(int) int { return lead }}
		if c.Rank == lead {
			leaders.own = 0
		}
		return group{c.Size, c.Rank, same}, leaders
	}
	ranks := m.members[m.of[c.Rank]]
	local = group{len(ranks), m.place[c.Rank], func(i int) int { return ranks[i] }}
	lead := func(machine int) int {
		if root >= 0 && m.of[root] == machine {
			return root
		}
		return m.members[machine][0]
	}
	leaders = group{m.Len(), -1, lead}
	if lead(m.of[c.Rank]) == c.Rank {
		leaders.own = m.of[c.Rank]
	}
	return local, leaders
}

// embed runs the plan of a call among ranks, whose arrays are those windows of
// this schedule's.
func (f *flow) embed(p Plan, ranks func(int) int, spaces [3]Range) {
	move := func(r Range) Range {
		if r.Len == 0 {
			return Range{}
		}
		return Range{spaces[r.Space].Space, spaces[r.Space].Off + r.Off, r.Len}
	}
	for r := range p.Rounds {
		for _, l := range r.Local {
			f.Local = append(f.Local, Local{move(l.Into), move(l.A), move(l.B), l.Fold})
		}
		for _, l := range r.Late {
			f.Late = append(f.Late, Local{move(l.Into), move(l.A), move(l.B), l.Fold})
		}
		for _, s := range r.Sends {
			f.send(ranks(s.To), move(s.From))
		}
		for _, v := range r.Recvs {
			f.Recvs = append(f.Recvs, Recv{ranks(v.From), move(v.Into), v.Side, move(v.With)})
		}
		if !f.next() {
			return
		}
	}
}

// hierarchicalAllReduce: Reduce to the leader, butterfly of the leaders, Broadcast.
// Deterministic calls use the direct schedule: machines are no groups of the
// canonical tree.
func hierarchicalAllReduce(c *Call) Plan {
	if c.Deterministic {
		return treeOfDirect(c)
	}
	local, leaders := groups(c, -1)
	reduce := &Call{Op: Reduce, Rank: local.own, Size: local.size, Count: c.Count, Chunk: c.Chunk}
	across := &Call{Op: AllReduce, Rank: leaders.own, Size: leaders.size, Count: c.Count, Chunk: c.Chunk, InPlace: true}
	spread := &Call{Op: Broadcast, Rank: local.own, Size: local.size, Count: c.Count, Chunk: c.Chunk, InPlace: true}
	first, last := binomialReduce(reduce), binomialBroadcast(spread)
	var middle Plan
	if leaders.own >= 0 {
		middle = butterflyAllReduce(across)
	} else {
		middle = none
	}
	scratch := max(first.Scratch, middle.Scratch, last.Scratch)
	return plan(scratch, func(f *flow) {
		in, out := Range{Input, 0, c.Count}, Range{Output, 0, c.Count}
		s := Range{Scratch, 0, scratch}
		f.embed(first, local.rank, [3]Range{in, out, s})
		f.embed(middle, leaders.rank, [3]Range{out, out, s})
		f.embed(last, local.rank, [3]Range{out, out, s})
	})
}

// hierarchicalBroadcast: the root's machine is served by the root, the others by
// their leaders.
func hierarchicalBroadcast(c *Call) Plan {
	local, leaders := groups(c, c.Root)
	machine, first := 0, 0 // of the root; and where its machine's ranks get it from
	if m := c.machines(); m == nil {
		first = c.Root
	} else if machine = m.of[c.Root]; m.of[c.Rank] == machine {
		first = m.place[c.Root]
	}
	outer := none
	if leaders.own >= 0 {
		outer = binomialBroadcast(&Call{Op: Broadcast, Rank: leaders.own, Size: leaders.size, Root: machine, Count: c.Count})
	}
	inner := binomialBroadcast(&Call{Op: Broadcast, Rank: local.own, Size: local.size, Root: first, Count: c.Count, InPlace: true})
	return plan(0, func(f *flow) {
		in, out := Range{Input, 0, c.Count}, Range{Output, 0, c.Count}
		f.embed(outer, leaders.rank, [3]Range{in, out, {}})
		f.embed(inner, local.rank, [3]Range{out, out, {}})
	})
}
