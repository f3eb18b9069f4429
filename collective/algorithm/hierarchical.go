package algorithm

// The hierarchical schedules stay on a machine as long as they can: the ranks of
// one machine meet first, one of each machine (its lowest) meets the others, and
// then each machine's ranks get what came. Where all are on one machine, they are
// the inner schedule alone.

// groups are this rank's machine and the machines' leaders, as ranks of the call.
func groups(c *Call) (local, leaders []int) {
	seen := map[int]bool{}
	for r := range c.Size {
		n := 0
		if c.Nodes != nil {
			n = c.Nodes[r]
		}
		if !seen[n] {
			seen[n] = true
			leaders = append(leaders, r)
		}
		if c.Nodes == nil || n == c.Nodes[c.Rank] {
			local = append(local, r)
		}
	}
	return local, leaders
}

func index(ranks []int, r int) int {
	for i, x := range ranks {
		if x == r {
			return i
		}
	}
	return -1
}

// embed runs the plan of a call among ranks, whose arrays are those windows of
// this schedule's.
func (f *flow) embed(p Plan, ranks []int, spaces [3]Range) {
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
		for _, s := range r.Sends {
			f.send(ranks[s.To], move(s.From))
		}
		for _, v := range r.Recvs {
			f.Recvs = append(f.Recvs, Recv{ranks[v.From], move(v.Into), v.Side, move(v.With)})
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
	local, leaders := groups(c)
	me, lead := index(local, c.Rank), index(leaders, c.Rank)
	reduce := &Call{Op: Reduce, Rank: me, Size: len(local), Count: c.Count, Chunk: c.Chunk}
	across := &Call{Op: AllReduce, Rank: lead, Size: len(leaders), Count: c.Count, Chunk: c.Chunk, InPlace: true}
	spread := &Call{Op: Broadcast, Rank: me, Size: len(local), Count: c.Count, Chunk: c.Chunk, InPlace: true}
	first, last := binomialReduce(reduce), binomialBroadcast(spread)
	var middle Plan
	if lead >= 0 {
		middle = butterflyAllReduce(across)
	} else {
		middle = none
	}
	scratch := max(first.Scratch, middle.Scratch, last.Scratch)
	return plan(scratch, func(f *flow) {
		in, out := Range{Input, 0, c.Count}, Range{Output, 0, c.Count}
		s := Range{Scratch, 0, scratch}
		f.embed(first, local, [3]Range{in, out, s})
		f.embed(middle, leaders, [3]Range{out, out, s})
		f.embed(last, local, [3]Range{out, out, s})
	})
}

// hierarchicalBroadcast: the root's machine is served by the root, the others by
// their leaders.
func hierarchicalBroadcast(c *Call) Plan {
	local, leaders := groups(c)
	rootsNode := 0
	if c.Nodes != nil {
		rootsNode = c.Nodes[c.Root]
	}
	for i, l := range leaders { // the root leads its machine
		if c.Nodes == nil || c.Nodes[l] == rootsNode {
			leaders[i] = c.Root
		}
	}
	first := c.Root
	if index(local, c.Root) < 0 {
		first = local[0]
	}
	lead := index(leaders, c.Rank)
	outer := none
	if lead >= 0 {
		outer = binomialBroadcast(&Call{Op: Broadcast, Rank: lead, Size: len(leaders), Root: index(leaders, c.Root), Count: c.Count})
	}
	inner := binomialBroadcast(&Call{Op: Broadcast, Rank: index(local, c.Rank), Size: len(local), Root: index(local, first), Count: c.Count, InPlace: true})
	return plan(0, func(f *flow) {
		in, out := Range{Input, 0, c.Count}, Range{Output, 0, c.Count}
		f.embed(outer, leaders, [3]Range{in, out, {}})
		f.embed(inner, local, [3]Range{out, out, {}})
	})
}
