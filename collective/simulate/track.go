package simulate

import (
	"slices"

	"github.com/volley-go/volley/collective/algorithm"
)

// cell is a tracked position of an array.
type cell struct {
	at int64
	v  value
}

// cells are the tracked positions of one array, by rising place.
type cells []cell

// find is the index of the first cell at or behind a place.
func (c cells) find(at int64) int {
	lo, hi := 0, len(c)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if c[mid].at < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// window are the cells in [off, off+n).
func (c cells) window(off, n int64) cells {
	if len(c) == 0 {
		return nil
	}
	return c[c.find(off):c.find(off+n)]
}

// memory is what is tracked of a rank's arrays.
type memory [3]cells

// read appends the cells of a range to into, with places counted from its start.
func (m *memory) read(into cells, r algorithm.Range) cells {
	for _, c := range m[r.Space].window(r.Off, r.Len) {
		into = append(into, cell{c.at - r.Off, c.v})
	}
	return into
}

// write puts cells, with places counted from the range's start, in the place of what
// it held.
func (m *memory) write(r algorithm.Range, from cells) {
	all := m[r.Space]
	lo, hi := all.find(r.Off), all.find(r.Off+r.Len)
	switch more := len(from) - (hi - lo); {
	case more > 0:
		all = slices.Grow(all, more)[:len(all)+more]
		copy(all[hi+more:], all[hi:len(all)-more])
	case more < 0:
		copy(all[hi+more:], all[hi:])
		all = all[:len(all)+more]
	}
	for i, c := range from {
		all[lo+i] = cell{c.at + r.Off, c.v}
	}
	m[r.Space] = all
}

// fold appends a ⊕ b, which have the same places if all is well, to into.
func fold(into, a, b cells) cells {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].at < b[0].at:
			into, a = append(into, cell{a[0].at, broken}), a[1:]
		case len(a) == 0 || b[0].at < a[0].at:
			into, b = append(into, cell{b[0].at, broken}), b[1:]
		default:
			into, a, b = append(into, cell{a[0].at, join(a[0].v, b[0].v)}), a[1:], b[1:]
		}
	}
	return into
}
