package algorithm

// laneCount is how many elements a vector has at least that a machine's ranks share, and that ways with more rounds are for: a
// leader's trees send all of it log2 times on a machine, a ring of L ranks its parts in L-1
// rounds, which is less from about 2L times α/β on: 16 KiB and more where messages
// within a machine go through its memory.
const laneCount = 1 << 12

// inLanes says that an AllReduce goes by shares.
func (c *Call) inLanes(m *Machines) bool {
	return m != nil && m.each > 1 && m.Len() > 1 && c.Count >= laneCount
}

// hierarchicalAllReduce: Reduce to the leader, butterfly of the leaders, Broadcast; or, in lanes, a
// ring's ReduceScatter on the machine, butterflies of those with the same share, AllGather.
// Deterministic calls use the direct schedule: machines are no groups of the
// canonical tree.
func hierarchicalAllReduce(c *Call) Plan {
	if c.Deterministic {
		return treeOfDirect(c)
	}
	if m := c.machines(); c.inLanes(m) {
		return allReduceInLanes(c, m)
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

func allReduceInLanes(c *Call, m *Machines) Plan {
	local, others := localGroup(c), lane(c, m)
	ring := &Call{Op: AllReduce, Rank: local.own, Size: local.size, Count: c.Count}
	at := shares(ring)
	own := at.block(Output, local.own)
	across := butterflyAllReduce(&Call{Op: AllReduce, Rank: others.own, Size: others.size, Count: own.Len, InPlace: true})
	partial := func(b int) Range { return at.block(Output, b) }
	scatter := plan(0, func(f *flow) { f.ringReduceScatter(ring, &at, partial, own) })
	gather := plan(0, func(f *flow) { f.ringAllGather(ring, &at) })
	in, out := Range{Input, 0, c.Count}, Range{Output, 0, c.Count}
	return plan(0, func(f *flow) {
		f.embed(scatter, local.rank, [3]Range{in, out, {}})
		f.embed(across, others.rank, [3]Range{own, own, {}})
		f.embed(gather, local.rank, [3]Range{out, out, {}})
	})
}

// hierarchicalReduce: Reduce to the leaders, and from them to the root, which is its machine's. Deterministic
// calls have the root fold all contributions.
func hierarchicalReduce(c *Call) Plan {
	if c.Deterministic {
		return gatherAndFold(c)
	}
	local, leaders := groups(c, c.Root)
	machine, first := rootOf(c)
	inner := binomialReduce(&Call{Op: Reduce, Rank: local.own, Size: local.size, Root: first, Count: c.Count})
	in, out := Range{Input, 0, c.Count}, Range{Output, 0, c.Count}
	sum, used := out, int64(0) // what this machine's ranks have
	switch {
	case leaders.own < 0:
		sum = Range{}
	case local.size == 1:
		sum, inner = in, none
	case c.Rank != c.Root:
		sum, used = Range{Scratch, 0, c.Count}, c.Count
	}
	outer := none
	if leaders.own >= 0 {
		outer = binomialReduce(&Call{Op: Reduce, Rank: leaders.own, Size: leaders.size, Root: machine, Count: c.Count})
	}
	rest := Range{Scratch, used, max(inner.Scratch, outer.Scratch)}
	return plan(used+rest.Len, func(f *flow) {
		f.embed(inner, local.rank, [3]Range{in, sum, rest})
		f.embed(outer, leaders.rank, [3]Range{sum, out, rest})
	})
}

// rootOf is the root's machine, and the place of this rank's machine's leader on it: the root's own, or the first.
func rootOf(c *Call) (machine, place int) {
	m := c.machines()
	if m == nil {
		return 0, c.Root
	}
	machine = m.of[c.Root]
	if m.of[c.Rank] == machine {
		place = m.place[c.Root]
	}
	return machine, place
}

// hierarchicalBroadcast: the root's machine is served by the root, the others by
// their leaders.
func hierarchicalBroadcast(c *Call) Plan {
	local, leaders := groups(c, c.Root)
	machine, first := rootOf(c)
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

// hierarchicalBarrier: the leaders hear of their machines' ranks, then of each other, and tell.
func hierarchicalBarrier(c *Call) Plan {
	local, leaders := groups(c, -1)
	told, token := Range{Scratch, 0, 1}, Range{Scratch, 1, 1}
	across := none
	if leaders.own >= 0 {
		across = disseminationBarrier(&Call{Op: Barrier, Rank: leaders.own, Size: leaders.size})
	}
	spread := binomialBroadcast(&Call{Op: Broadcast, Rank: local.own, Size: local.size, Count: 1, InPlace: true})
	return plan(2, func(f *flow) {
		for w := 1; w < local.size; w *= 2 { // up a binomial tree
			if local.own&w != 0 {
				f.send(local.rank(local.own-w), token)
				f.next()
				break
			}
			if local.own+w < local.size {
				f.recv(local.rank(local.own+w), told)
				f.next()
			}
		}
		f.embed(across, leaders.rank, [3]Range{2: {Scratch, 0, 2}})
		f.embed(spread, local.rank, [3]Range{token, token, {}})
	})
}
