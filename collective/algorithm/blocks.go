package algorithm

// blocks is where the blocks of a vector begin, one a rank. Blocks of one length
// and equal shares are computed and not kept: tables would take Size squared places
// where one process walks the schedules of all ranks.
type blocks struct {
	n     int
	each  int64   // the length of every block, where table is nil and shares is false
	total int64   // of all blocks together
	first int     // the block that is counted as 0; after the last one follows block 0
	table []int64 // starts, and total behind them
	share bool    // total is cut into equal shares
}

// offsets are the blocks of a call.
func (c *Call) offsets() blocks { return blocksOf(c.Size, c.Count, c.Counts) }

func blocksOf(size int, count int64, counts []int64) blocks {
	if counts == nil {
		return blocks{n: size, each: count, total: int64(size) * count}
	}
	table := make([]int64, size+1)
	for r, n := range counts {
		table[r+1] = table[r] + n
	}
	return blocks{n: size, total: table[size], table: table}
}

// shares are the equal parts of a vector, one a rank.
func shares(c *Call) blocks { return blocks{n: c.Size, total: c.Count, share: true} }

// from are the same blocks in another order: block r first, then those behind it.
func (b blocks) from(r int) blocks {
	b.first = r
	return b
}

// at is the start of block i; that of block n is the sum of all.
func (b *blocks) at(i int) int64 {
	if b.first == 0 {
		return b.start(i)
	}
	if i += b.first; i <= b.n {
		return b.start(i) - b.start(b.first)
	}
	return b.total - b.start(b.first) + b.start(i-b.n)
}

func (b *blocks) start(i int) int64 {
	switch {
	case b.table != nil:
		return b.table[i]
	case b.share:
		return cut(b.total, b.n, i)
	}
	return int64(i) * b.each
}

// run is where blocks [lo, hi) lie in an array of all blocks in their order.
func (b *blocks) run(s Space, lo, hi int) Range {
	at := b.at(lo)
	return Range{s, at, b.at(hi) - at}
}

// block is where block i lies.
func (b *blocks) block(s Space, i int) Range { return b.run(s, i, i+1) }

// longest is the length of the longest block.
func (b *blocks) longest() int64 {
	if b.table == nil {
		return b.start(1) // the first shares are the longest
	}
	var longest int64
	for r := range b.n {
		longest = max(longest, b.table[r+1]-b.table[r])
	}
	return longest
}
