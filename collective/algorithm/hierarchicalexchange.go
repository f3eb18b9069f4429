package algorithm

// hierarchicalAllToAll: on its machine a rank gets what all there send to ranks in its place, and exchanges it with
// these; each message carries what its ranks would send in as many. Blocks of equal length and machines of as many ranks
// only: of others a rank does not know the lengths, and no rank stands for another.
func hierarchicalAllToAll(c *Call) Plan {
	m := c.machines()
	if c.Counts != nil || oneLevel(m) || m.each == 0 {
		return pairwiseAllToAll(c)
	}
	p, local, others := newPacking(c, m.byPlace), localGroup(c), lane(c, m)
	inner := pairwiseAllToAll(&Call{Op: AllToAll, Rank: local.own, Size: local.size, Count: int64(m.Len()) * c.Count})
	outer := pairwiseAllToAll(&Call{Op: AllToAll, Rank: others.own, Size: others.size, Count: int64(m.each) * c.Count})
	sum := p.ranks.total
	// By the place that they are for and then by machine, by the place that they are from, by machine, and back.
	one, two := Range{Scratch, 0, sum}, Range{Scratch, sum, sum}
	block := func(r Range, i int) Range { return r.part(int64(i)*c.Count, c.Count) }
	return plan(2*sum, func(f *flow) {
		p.pack(f, one, Range{Input, 0, sum})
		f.embed(inner, local.rank, [3]Range{one, two, {}})
		for machine := range m.Len() {
			for place := range m.each {
				f.copy(block(one, machine*m.each+place), block(two, place*m.Len()+machine))
			}
		}
		out := Range{Output, 0, sum}
		if m.runs {
			f.embed(outer, others.rank, [3]Range{one, out, {}})
			return
		}
		f.embed(outer, others.rank, [3]Range{one, two, {}})
		for i, r := range m.byMachine {
			f.copy(block(out, r), block(two, i))
		}
	})
}
