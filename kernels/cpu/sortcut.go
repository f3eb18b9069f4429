package cpu

import "sync"

// split is a run of rows from a on that is being sorted: its pairs are in from,
// to has as much room. home says that from's rows are those of the sorter, in
// which they have to end; fresh that from has no rows yet, which then go by
// their numbers.
type split[K row, R row] struct {
	from, to pairs[K, R]
	a        int
	diff     K
	home     bool
	fresh    bool
}

// sortCut sorts the run at [a, b) by its words w, of which bits of diff differ,
// and then by the levels after that.
func sortCut[K row, R row](z *sorter[R], w, spare []K, a, b int, diff K, at cursor) error {
	s := split[K, R]{pairs[K, R]{w, z.rows[a:b]}, pairs[K, R]{spare[:b-a], z.spareRows[a:b]}, a, diff, true, z.fresh}
	if z.fresh { // the rows are written for the first time where they end
		s.from.rows, s.to.rows, s.home = s.to.rows, s.from.rows, false
		z.fresh = false
	}
	return s.sort(z, at)
}

// sort cuts the run into parts and sorts those, the big ones on all workers.
func (s split[K, R]) sort(z *sorter[R], at cursor) error {
	c, err := cut[K, R](z.ctx, z.loops, s.from.words, uint64(s.diff))
	if err != nil {
		return err
	}
	rows := s.from.rows
	if s.fresh {
		rows = nil
	}
	if err := move(z.ctx, c, s.from.words, rows, s.to.words, s.to.rows); err != nil {
		return err
	}
	var rooms private[scratch]
	var mu sync.Mutex
	var big []split[K, R]
	err = tasks(z.ctx, c.parts, func(worker, p int) error {
		i, j := int(c.starts[p]), int(c.starts[p+1])
		part := split[K, R]{from: s.to.slice(i, j), to: s.from.slice(i, j), a: s.a + i, home: !s.home}
		switch {
		case i == j:
			return nil
		case j-i >= bigRows:
			mu.Lock()
			defer mu.Unlock()
			big = append(big, part)
			return nil
		}
		return part.finish(z, rooms.of(worker), at)
	})
	for _, part := range big {
		if err == nil {
			err = part.sortBig(z, at)
		}
	}
	return err
}

// finish sorts a run that is not big, in the worker that calls it.
func (s split[K, R]) finish(z *sorter[R], room *scratch, at cursor) error {
	last := z.last(at)
	inSpare, err := sortPart(z.ctx, z.loops, &room.digits, s.from, s.to, !last)
	if err != nil {
		return err
	}
	if inSpare {
		s.from, s.to, s.home = s.to, s.from, !s.home
	}
	if !s.home {
		copy(s.to.rows, s.from.rows)
	}
	if last {
		return nil
	}
	words := s.from.words
	return runs(words, func(i, j int) error {
		next := z.next(at, uint64(words[i]))
		if next.level == len(z.levels) {
			return nil
		}
		i, j = s.a+i, s.a+j
		return sortRun(z, room, z.words[i:j], z.spareWords[i:j], i, j, next)
	})
}

// sortBig sorts a big run on all workers.
func (s split[K, R]) sortBig(z *sorter[R], at cursor) error {
	words := s.from.words
	diffs, falls := make([]K, morsels(int64(len(words)))), make([]bool, morsels(int64(len(words))))
	err := parallel(z.ctx, int64(len(words)), func(_ int, m span) error {
		diff, rising := survey(words[m.from:m.to])
		diffs[m.index] = diff | (words[m.from] ^ words[0])
		falls[m.index] = !rising || m.from > 0 && words[m.from] < words[m.from-1]
		return nil
	})
	if err != nil {
		return err
	}
	fall := false
	for i, d := range diffs {
		s.diff, fall = s.diff|d, fall || falls[i]
	}
	if fall {
		return s.sort(z, at)
	}
	if !s.home {
		copy(s.to.rows, s.from.rows)
	}
	b := s.a + len(words)
	switch {
	case s.diff == 0:
		return z.again(s.a, b, z.next(at, uint64(words[0])), true)
	case z.last(at):
		return nil
	}
	return refine(z, words, s.a, at)
}
