package algorithm

// The binomial trees: the ranks that have something double in every round, so
// log2 of Size rounds, each with the whole vector. For short vectors.

func binomialBroadcast(c *Call) Plan {
	return plan(0, func(f *flow) {
		p := c.Size
		v := (c.Rank - c.Root + p) % p // the root is 0
		rank := func(v int) int { return (v + c.Root) % p }
		out := Range{Output, 0, c.Count}
		have := out
		if v == 0 {
			have = out.in(Input)
		}
		// In the round of width w the ranks below w have it and serve those from w on.
		for w := 1; w < p; w *= 2 {
			switch {
			case v < w && v+w < p:
				f.send(rank(v+w), have)
			case v >= w && v < 2*w:
				f.recv(rank(v-w), out)
			}
			f.next()
		}
		if v == 0 {
			f.copy(out, have)
		}
	})
}

// binomialReduce combines in the canonical order. What a group of ranks has
// combined is held by the root if it is among them, else by the lowest one.
func binomialReduce(c *Call) Plan {
	scratch := c.Count
	if c.Rank == c.Root {
		scratch = 0
	}
	return plan(scratch, func(f *flow) {
		p := c.Size
		acc := Range{Scratch, 0, c.Count}
		if c.Rank == c.Root {
			acc = acc.in(Output)
		}
		so := Range{Input, 0, c.Count}
		holder := func(a, n int) int {
			if c.Root >= a && c.Root < a+n {
				return c.Root
			}
			return a
		}
		for w := 1; w < p; w *= 2 {
			a := c.Rank / (2 * w) * (2 * w)
			if a+w >= p {
				continue
			}
			left, right := holder(a, w), holder(a+w, min(w, p-a-w))
			from, to, side := right, left, Right
			if right == c.Root {
				from, to, side = left, right, Left
			}
			switch c.Rank {
			case from:
				f.send(to, so)
				f.next()
				return
			case to:
				f.reduce(from, side, acc, so)
				so = acc
				f.next()
			}
		}
		f.copy(acc, so)
	})
}

// binomialGather collects blocks in the order of v, the rank counted from the
// root; a rank's subtree is a run of them. Interior ranks keep theirs in Scratch.
func binomialGather(c *Call) Plan {
	t := newSubtree(c)
	return plan(t.scratch(), func(f *flow) {
		f.copy(t.held(t.v, t.v+1), Range{Input, 0, c.block(c.Rank)})
		for w := 1; w < c.Size; w *= 2 {
			if t.v&w != 0 {
				f.next()
				f.send(t.rank(t.v-w), t.held(t.v, min(t.v+w, c.Size)))
				f.next()
				return
			}
			if t.v+w < c.Size {
				f.recv(t.rank(t.v+w), t.held(t.v+w, min(t.v+2*w, c.Size)))
				f.next()
			}
		}
		t.unroll(func(out, held Range) { f.copy(out, held) })
	})
}

// binomialScatter is the gather's mirror.
func binomialScatter(c *Call) Plan {
	t := newSubtree(c)
	return plan(t.scratch(), func(f *flow) {
		top := 1
		for top < c.Size {
			top *= 2
		}
		if t.v == 0 {
			t.unroll(func(in, held Range) { f.copy(held, in.in(Input)) })
		} else {
			top = t.v & -t.v
			f.recv(t.rank(t.v-top), t.held(t.v, min(t.v+top, c.Size)))
		}
		f.next()
		for w := top / 2; w >= 1; w /= 2 {
			if t.v+w < c.Size {
				f.send(t.rank(t.v+w), t.held(t.v+w, min(t.v+2*w, c.Size)))
				f.next()
			}
		}
		f.copy(Range{Output, 0, c.block(c.Rank)}, t.held(t.v, t.v+1))
	})
}

// subtree is a rank's place in a binomial tree whose blocks lie in the order of v.
type subtree struct {
	c  *Call
	v  int
	at blocks // by v
}

func newSubtree(c *Call) *subtree {
	return &subtree{c: c, v: (c.Rank - c.Root + c.Size) % c.Size, at: c.offsets().from(c.Root)}
}

func (t *subtree) rank(v int) int { return (v + t.c.Root) % t.c.Size }

// held is where blocks [from, to) by v lie in this rank's Scratch.
func (t *subtree) held(from, to int) Range {
	at := t.at.at(from)
	return Range{Scratch, at - t.at.at(t.v), t.at.at(to) - at}
}

func (t *subtree) scratch() int64 {
	width := t.v & -t.v
	if t.v == 0 {
		width = t.c.Size
	}
	return t.at.at(min(t.v+width, t.c.Size)) - t.at.at(t.v)
}

// unroll pairs the root's blocks in the order of ranks with those held.
func (t *subtree) unroll(pair func(out, held Range)) {
	at := t.c.offsets()
	for v := range t.c.Size {
		r := t.rank(v)
		pair(at.block(Output, r), t.held(v, v+1))
	}
}
