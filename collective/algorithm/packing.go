package algorithm

// packing is the blocks of a call in another order than that of the ranks.
type packing struct {
	order         []int  // of which rank each place is
	ranks, places blocks // where blocks lie by rank, and by place
}

func newPacking(c *Call, order []int) *packing {
	p := &packing{order: order, ranks: c.offsets()}
	p.places = p.ranks
	if c.Counts != nil {
		counts := make([]int64, c.Size)
		for i, r := range order {
			counts[i] = c.Counts[r]
		}
		p.places = blocksOf(c.Size, 0, counts)
	}
	return p
}

// pack copies blocks that lie by rank to where they lie by place.
func (p *packing) pack(f *flow, into, from Range) {
	p.pairs(func(place, rank Range) { f.copy(into.part(place.Off, place.Len), from.part(rank.Off, rank.Len)) })
}

// unpack is the way back.
func (p *packing) unpack(f *flow, into, from Range) {
	p.pairs(func(place, rank Range) { f.copy(into.part(rank.Off, rank.Len), from.part(place.Off, place.Len)) })
}

func (p *packing) pairs(each func(place, rank Range)) {
	for i, r := range p.order {
		each(p.places.block(Scratch, i), p.ranks.block(Scratch, r))
	}
}
