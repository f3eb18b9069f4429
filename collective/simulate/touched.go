package simulate

import (
	"slices"

	"github.com/volley-go/volley/collective/algorithm"
)

// touched is how many elements of a rank's arrays its schedule reads or writes by way of the caches: these hold
// none of the others. past says of a copy of so many elements that it writes past them.
func touched(p algorithm.Plan, past func(elements int64) bool) (n int64) {
	var of [3]ranges
	for r := range p.Rounds {
		for _, steps := range [][]algorithm.Local{r.Local, r.Late} {
			for i := range steps {
				l := &steps[i]
				if l.Fold || !past(l.Into.Len) {
					of[l.Into.Space].add(l.Into)
				}
				of[l.A.Space].add(l.A)
				of[l.B.Space].add(l.B)
			}
		}
		for i := range r.Sends {
			of[r.Sends[i].From.Space].add(r.Sends[i].From)
		}
		for i := range r.Recvs {
			v := &r.Recvs[i]
			of[v.Into.Space].add(v.Into)
			of[v.With.Space].add(v.With)
		}
	}
	for i := range of {
		n += of[i].union()
	}
	return n
}

// ranges are some of one array, with those merged that a schedule goes through one after another.
type ranges [][2]int64

func (all *ranges) add(r algorithm.Range) {
	from, to := r.Off, r.Off+r.Len
	if r.Len == 0 {
		return
	}
	if n := len(*all); n > 0 {
		if last := &(*all)[n-1]; from <= last[1] && to >= last[0] {
			last[0], last[1] = min(last[0], from), max(last[1], to)
			return
		}
	}
	*all = append(*all, [2]int64{from, to})
}

// union is how many elements are in any of the ranges.
func (all ranges) union() (n int64) {
	slices.SortFunc(all, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	end := int64(0)
	for _, r := range all {
		n += max(0, r[1]-max(end, r[0]))
		end = max(end, r[1])
	}
	return n
}
