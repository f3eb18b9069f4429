package cpu

import "github.com/volley-go/volley/device"

// pieces is how many pieces of strings are tried before the rest of them is
// compared.
const pieces = 8

// sortRun sorts the run at [a, b), whose words go to w, in the worker that
// calls it.
func sortRun[K row, R row](z *sorter[R], room *scratch, w, spare []K, a, b int, at cursor) error {
	for {
		if at.level == len(z.levels) || b-a < 2 {
			return nil
		}
		if t := z.levels[at.level].text; t != nil {
			if b-a <= insertionRows || at.tries >= pieces {
				return mergeRowsBy(z.rows[a:b], z.spareRows[a:b], func(x, y R) int { return z.compare(at, x, y) },
					func() error { return device.Canceled(z.ctx, "cpu", "") })
			}
			if at.depth > 0 {
				at.depth = shared(t, z.rows[a:b], at.depth)
			}
		}
		t := makeWords(z, room, w, a, b, at)
		if t.diff != 0 {
			if err := sortPairs(z, &room.digits, w, spare, a, b, t); err != nil {
				return err
			}
			break
		}
		at = z.next(at, uint64(t.first))
	}
	if z.last(at) {
		return nil
	}
	return runs(w, func(i, j int) error {
		return sortRun(z, room, z.words[a+i:a+j], z.spareWords[a+i:a+j], a+i, a+j, z.next(at, uint64(w[i])))
	})
}

// sortPairs sorts the rows at [a, b) by their words w of trend t.
func sortPairs[K row, R row](z *sorter[R], room *digits, w, spare []K, a, b int, t trend[K]) error {
	p := pairs[K, R]{w, z.rows[a:b]}
	switch {
	case t.rising:
	case t.falling:
		reverse(p.words)
		reverse(p.rows)
	default:
		other := pairs[K, R]{spare[:len(w)], z.spareRows[a:b]}
		inSpare, err := sortPart(z.ctx, z.loops, room, p, other, true)
		if err != nil {
			return err
		}
		if inSpare {
			copy(p.words, other.words)
			copy(p.rows, other.rows)
		}
	}
	return nil
}

// compare orders two rows that are equal up to a cursor.
func (z *sorter[R]) compare(at cursor, a, b R) int {
	l := &z.levels[at.level]
	var c int
	if l.text != nil {
		c = l.text.compare(int64(a), int64(b), at.depth)
	} else {
		c = l.compare(a, b)
	}
	for i := at.level + 1; c == 0 && i < len(z.levels); i++ {
		c = z.levels[i].compare(a, b)
	}
	return c
}
