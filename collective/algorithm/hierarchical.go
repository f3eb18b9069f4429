package algorithm

// The hierarchical schedules stay on a machine as long as they can, and send every
// byte from machine to machine once: the ranks of one machine meet first, one of each
// machine (its lowest) meets the others, and then each machine's ranks get what came.
// Where there is much to send and all machines have as many ranks, all of these meet
// others instead, each those in the same place on their machines, and has its share.
// Where all are on one machine, they are the inner schedule alone.

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

// localGroup are the ranks of this rank's machine.
func localGroup(c *Call) group {
	local, _ := groups(c, -1)
	return local
}

// lane are the ranks in this one's place on their machines, of which all have as many ranks.
func lane(c *Call, m *Machines) group {
	place := m.place[c.Rank]
	return group{m.Len(), m.of[c.Rank], func(machine int) int { return m.members[machine][place] }}
}

// among is a call of some ranks. Block i is those of ranks of(i) together, each of them how many
// there are of all; 0 where it is not the same of all.
func (c *Call) among(op Op, g group, root, each int, of func(i int) []int) *Call {
	part := &Call{Op: op, Rank: g.own, Size: g.size, Root: root}
	if c.Counts == nil && each > 0 {
		part.Count = int64(each) * c.Count
		return part
	}
	part.Counts = make([]int64, g.size)
	for i := range part.Counts {
		for _, r := range of(i) {
			part.Counts[i] += c.block(r)
		}
	}
	return part
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
			if into, a := move(l.Into), move(l.A); l.Fold || into != a {
				f.Local = append(f.Local, Local{into, a, move(l.B), l.Fold})
			}
		}
		for _, l := range r.Late {
			f.copyLate(move(l.Into), move(l.A))
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
