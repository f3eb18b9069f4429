package algorithm

// foldChunk bounds the scratch of the schedules that hold every rank's
// contribution at once: elements of one rank's.
const foldChunk = 1 << 14

// foldTree combines the contributions at loc, one a rank and all of one length,
// into dst in the order of the canonical tree. It overwrites those that are not
// in Input.
func (f *flow) foldTree(dst Range, loc []Range) {
	if len(loc) == 1 {
		f.copy(dst, loc[0])
		return
	}
	for w := 1; w < len(loc); w *= 2 {
		for a := 0; a+w < len(loc); a += 2 * w {
			into := loc[a]
			if 2*w >= len(loc) {
				into = dst
			} else if into.Space == Input {
				into = loc[a+w]
			}
			f.fold(into, loc[a], loc[a+w])
			loc[a] = into
		}
	}
}

// exchangeAndFold leaves block r of all ranks' inputs, combined in the canonical
// order, at rank r: every rank gets all contributions to its block and folds them
// itself. The bytes on the wire are a ring's, (p-1)/p of the vector for each rank.
// at are the blocks' starts in Input; into is where the own block goes.
func (f *flow) exchangeAndFold(c *Call, at *blocks, into Range) {
	longest := at.longest()
	chunk := min(longest, foldChunk)
	loc := make([]Range, c.Size)
	for lo := int64(0); lo < longest; lo += chunk {
		window := func(r int) Range { // of rank r's block
			b := at.block(Input, r)
			return b.part(lo, max(0, min(chunk, b.Len-lo)))
		}
		own := window(c.Rank)
		for i := range c.Size {
			r := (c.Rank + i) % c.Size
			loc[r] = Range{Scratch, int64(r) * chunk, own.Len}
			if i > 0 {
				f.send(r, window(r))
			}
		}
		for i := 1; i < c.Size; i++ {
			r := (c.Rank + c.Size - i) % c.Size
			f.recv(r, loc[r])
		}
		f.next()
		loc[c.Rank] = own
		if own.Len > 0 {
			f.foldTree(into.part(lo, own.Len), loc)
		}
		f.next()
	}
}

// exchangeScratch is what exchangeAndFold needs.
func exchangeScratch(at *blocks) int64 { return int64(at.n) * min(at.longest(), foldChunk) }

// gatherAndFold is a Reduce whose root folds all contributions itself.
func gatherAndFold(c *Call) Plan {
	return plan(int64(c.Size)*min(c.Count, foldChunk), func(f *flow) {
		loc := make([]Range, c.Size)
		for lo := int64(0); lo < c.Count; lo += foldChunk {
			n := min(foldChunk, c.Count-lo)
			own := Range{Input, lo, n}
			if c.Rank != c.Root {
				f.send(c.Root, own)
				f.next()
				continue
			}
			for r := range c.Size {
				loc[r] = Range{Scratch, int64(r) * min(c.Count, foldChunk), n}
				if r != c.Rank {
					f.recv(r, loc[r])
				}
			}
			f.next()
			loc[c.Rank] = own
			f.foldTree(Range{Output, lo, n}, loc)
			f.next()
		}
	})
}

// directAllReduce sends the whole vector to every other rank, and each folds all
// of them: one message deep, so the fastest for a few bytes on a few ranks. The
// order is the canonical one.
func directAllReduce(c *Call) Plan {
	chunk := min(c.Count, foldChunk)
	return plan(int64(c.Size)*chunk, func(f *flow) {
		loc := make([]Range, c.Size)
		for lo := int64(0); lo < c.Count; lo += chunk {
			n := min(chunk, c.Count-lo)
			for i := 1; i < c.Size; i++ {
				f.send((c.Rank+i)%c.Size, Range{Input, lo, n})
			}
			for i := 1; i < c.Size; i++ {
				r := (c.Rank + c.Size - i) % c.Size
				loc[r] = Range{Scratch, int64(r) * chunk, n}
				f.recv(r, loc[r])
			}
			f.next()
			loc[c.Rank] = Range{Input, lo, n}
			f.foldTree(Range{Output, lo, n}, loc)
			f.next()
		}
	})
}

// directReduceScatter is exchangeAndFold as an operation.
func directReduceScatter(c *Call) Plan {
	at := c.offsets()
	return plan(exchangeScratch(&at), func(f *flow) {
		f.exchangeAndFold(c, &at, Range{Output, 0, c.block(c.Rank)})
	})
}
