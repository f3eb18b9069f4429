package algorithm

// byRoot is a Gather or a Scatter in two steps: among the ranks of a machine, whose blocks the leader has together,
// and from leader to leader.
type byRoot struct {
	p              *packing
	local, leaders group
	inner, outer   *Call
	all            Range // of all blocks by machine: at the root, else empty
	part           Range // of those of a machine: at its leader, else empty
	scratch        int64
}

// newByRoot says where the blocks lie. Those of all machines are in whole, the root's own array, where they lie there by
// machine, else in Scratch.
func newByRoot(c *Call, m *Machines, whole Space) *byRoot {
	s := &byRoot{p: newPacking(c, m.byMachine)}
	s.local, s.leaders = groups(c, c.Root)
	machine, first := rootOf(c)
	s.inner = c.among(c.Op, s.local, first, 1, itself(m.members[m.of[c.Rank]]))
	if s.leaders.own < 0 {
		return s
	}
	s.outer = c.among(c.Op, s.leaders, machine, m.each, m.onMachine)
	at, n := s.outer.offset(s.leaders.own), s.outer.block(s.leaders.own)
	switch {
	case c.Rank != c.Root:
		s.part, s.scratch = Range{Scratch, 0, n}, n
		return s
	case m.runs:
		s.all = Range{whole, 0, s.p.ranks.total}
	default:
		s.all, s.scratch = Range{Scratch, 0, s.p.ranks.total}, s.p.ranks.total
	}
	s.part = s.all.part(at, n)
	return s
}

// hierarchicalGather: the leaders gather their machines' blocks, the root those of the leaders.
func hierarchicalGather(c *Call) Plan {
	m := c.machines()
	if oneLevel(m) {
		return binomialGather(c)
	}
	s, out := newByRoot(c, m, Output), Range{Output, 0, c.OutputLen()}
	first, last := binomialGather(s.inner), none
	if s.outer != nil {
		last = linearGather(s.outer)
	}
	rest := Range{Scratch, s.scratch, first.Scratch}
	return plan(s.scratch+rest.Len, func(f *flow) {
		f.embed(first, s.local.rank, [3]Range{{Input, 0, c.block(c.Rank)}, s.part, rest})
		f.embed(last, s.leaders.rank, [3]Range{s.part, s.all, {}})
		if c.Rank == c.Root && s.all.Space == Scratch {
			s.p.unpack(f, out, s.all)
		}
	})
}

// hierarchicalScatter is the gather's mirror.
func hierarchicalScatter(c *Call) Plan {
	m := c.machines()
	if oneLevel(m) {
		return binomialScatter(c)
	}
	s := newByRoot(c, m, Input)
	first, last := none, binomialScatter(s.inner)
	if s.outer != nil {
		first = linearScatter(s.outer)
	}
	rest := Range{Scratch, s.scratch, last.Scratch}
	return plan(s.scratch+rest.Len, func(f *flow) {
		if c.Rank == c.Root && s.all.Space == Scratch {
			s.p.pack(f, s.all, Range{Input, 0, s.all.Len})
		}
		f.embed(first, s.leaders.rank, [3]Range{s.all, s.part, {}})
		f.embed(last, s.local.rank, [3]Range{s.part, {Output, 0, c.block(c.Rank)}, rest})
	})
}
