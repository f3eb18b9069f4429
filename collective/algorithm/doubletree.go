package algorithm

import "math/bits"

// The double binary tree: two trees over the same ranks, each carrying half of
// the vector in pieces, such that (nearly) every rank is a leaf in one and inside
// the other: log2(p) latency at a ring's bandwidth. Source: Sanders, Speck and
// Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// 2009. The second tree of an odd number of ranks is turned by one, so a sum does
// not keep the ranks' order.

// node is a rank's place in one tree. Absent neighbours are -1. Level grows
// towards the top.
type node struct {
	up, left, right int
	level           int
}

// inorder is the place of v in the in-order tree of n nodes, in which the level is
// the number of trailing zero bits of v and node 0 stands above all others.
func inorder(v, n int) node {
	t := node{up: -1, left: -1, right: -1}
	below := func(half int) int { // the highest node of the run that starts behind v
		for ; half >= 1; half /= 2 {
			if v+half < n {
				return v + half
			}
		}
		return -1
	}
	if v == 0 {
		t.level = bits.Len(uint(n - 1))
		t.right = below(1 << max(0, t.level-1))
		return t
	}
	bit := v & -v
	t.level = bits.TrailingZeros(uint(v))
	t.up = v&^bit | bit<<1
	if t.up >= n {
		t.up = v &^ bit
	}
	if bit > 1 {
		t.left = v - bit/2
		t.right = below(bit / 2)
	}
	return t
}

// tree is one of the two: the first as it is, the second mirrored where the number
// of nodes is even, else turned by one.
func tree(second bool, v, n int) node {
	if !second {
		return inorder(v, n)
	}
	var t node
	name := func(x int) int { return (x + 1) % n }
	if n%2 == 0 {
		name = func(x int) int { return n - 1 - x }
		t = inorder(n-1-v, n)
		t.left, t.right = t.right, t.left
	} else {
		t = inorder((v+n-1)%n, n)
	}
	for _, x := range []*int{&t.up, &t.left, &t.right} {
		if *x >= 0 {
			*x = name(*x)
		}
	}
	return t
}

// wave is one tree's part of a schedule: count pieces from lo on, and the clock at
// which this node moves piece i.
type wave struct {
	node
	top    int // the level of the highest node
	lo, hi int64
	chunk  int64
}

// waves are those of two trees, or of the first alone.
func waves(c *Call, v, n int, two bool) [2]wave {
	chunk := c.Chunk
	if chunk <= 0 {
		chunk = defaultChunk
	}
	half := c.Count
	if two {
		half = c.Count / 2
	}
	top := bits.Len(uint(n - 1))
	return [2]wave{
		{tree(false, v, n), top, 0, half, chunk},
		{tree(true, v, n), top, half, c.Count, chunk},
	}
}

func (w *wave) pieces() int { return int((w.hi - w.lo + w.chunk - 1) / w.chunk) }

// piece is piece i, empty outside the vector.
func (w *wave) piece(i int) Range {
	if i < 0 || i >= w.pieces() {
		return Range{}
	}
	lo := w.lo + int64(i)*w.chunk
	return Range{Output, lo, min(w.chunk, w.hi-lo)}
}

// levelOf is the level of another node of the same tree.
func levelOf(second bool, v, n int) int { return tree(second, v, n).level }

// doubleTreeAllReduce: piece i leaves a node of level l upwards at clock i+l and
// downwards at clock i+2*top-l, so every message is sent and received at the same
// clock and no two ranks wait for each other.
func doubleTreeAllReduce(c *Call) Plan { return treesAllReduce(c, true) }

// treeAllReduce has one tree, which keeps the ranks' order.
func treeAllReduce(c *Call) Plan { return treesAllReduce(c, false) }

func treesAllReduce(c *Call, two bool) Plan {
	if c.Size == 1 {
		return alone(c)
	}
	if c.Deterministic {
		return treeOfDirect(c)
	}
	return plan(0, func(f *flow) {
		both := waves(c, c.Rank, c.Size, two)
		last := 2*both[0].top + max(both[0].pieces(), both[1].pieces())
		for clock := 0; clock <= last; clock++ {
			for k := range both {
				w := &both[k]
				f.up(w, k == 1, clock, c.Size)
				f.down(w, k == 1, clock, c.Size)
			}
			f.next()
		}
	})
}

// up moves what is due upwards: children's pieces are combined into Output.
func (f *flow) up(w *wave, second bool, clock, n int) {
	leaf := w.left < 0 && w.right < 0
	if w.up >= 0 {
		if out := w.piece(clock - w.level); leaf {
			f.send(w.up, out.in(Input))
		} else {
			f.send(w.up, out)
		}
	}
	first := -1 // the child whose pieces come first
	for _, child := range []int{w.left, w.right} {
		if child >= 0 && (first < 0 || levelOf(second, child, n) < levelOf(second, first, n)) {
			first = child
		}
	}
	sameClock := w.left >= 0 && w.right >= 0 && levelOf(second, w.left, n) == levelOf(second, w.right, n)
	for _, child := range []int{w.left, w.right} {
		if child < 0 {
			continue
		}
		in := w.piece(clock - levelOf(second, child, n))
		with, side := in.in(Input), Right
		if child == w.left {
			side = Left
		}
		if child != first || sameClock && child == w.right {
			with = in
		}
		f.reduce(child, side, in, with)
	}
}

// down moves what is due downwards.
func (f *flow) down(w *wave, second bool, clock, n int) {
	if w.up >= 0 {
		f.recv(w.up, w.piece(clock-2*w.top+levelOf(second, w.up, n)))
	}
	out := w.piece(clock - 2*w.top + w.level)
	for _, child := range []int{w.left, w.right} {
		if child >= 0 {
			f.send(child, out)
		}
	}
}

// treeOfDirect reduces by direct exchange and gathers by doubling.
func treeOfDirect(c *Call) Plan {
	at := shares(c)
	return plan(exchangeScratch(&at), func(f *flow) {
		f.exchangeAndFold(c, &at, at.block(Output, c.Rank))
		f.doublingAllGather(c, &at)
	})
}

func doubleTreeBroadcast(c *Call) Plan { return treesBroadcast(c, true) }

// treeBroadcast is a pipeline down one binary tree.
func treeBroadcast(c *Call) Plan { return treesBroadcast(c, false) }

// treesBroadcast feeds the trees, which stand over the ranks without the root, from the
// root.
func treesBroadcast(c *Call, two bool) Plan {
	if c.Size == 1 {
		return alone(c)
	}
	return plan(0, func(f *flow) {
		n := c.Size - 1
		rank := func(v int) int { return (c.Root + 1 + v) % c.Size }
		v := (c.Rank - c.Root - 1 + c.Size) % c.Size // n for the root
		both := waves(c, min(v, n-1), n, two)
		last := both[0].top + 1 + max(both[0].pieces(), both[1].pieces())
		for clock := 0; clock <= last; clock++ {
			for k := range both {
				w := &both[k]
				if v == n {
					f.send(rank(topOf(k == 1, n)), w.piece(clock).in(Input))
					continue
				}
				if w.up >= 0 {
					f.recv(rank(w.up), w.piece(clock-1-w.top+levelOf(k == 1, w.up, n)))
				} else {
					f.recv(c.Root, w.piece(clock))
				}
				for _, child := range []int{w.left, w.right} {
					if child >= 0 {
						f.send(rank(child), w.piece(clock-1-w.top+w.level))
					}
				}
			}
			f.next()
		}
		if v == n {
			f.copy(Range{Output, 0, c.Count}, Range{Input, 0, c.Count})
		}
	})
}

// topOf is the node without a parent.
func topOf(second bool, n int) int {
	switch {
	case !second:
		return 0
	case n%2 == 0:
		return n - 1
	default:
		return 1 % n
	}
}
