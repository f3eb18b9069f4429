package simulate

import (
	"fmt"
	"slices"

	"github.com/volley-go/volley/collective/algorithm"
)

// samples are the tracked positions of a call and what must become of them.
type samples struct {
	call    algorithm.Call
	with    *algorithm.Algorithm
	seed    uint64
	at      []int64         // elements of the vector; of calls with blocks: of a block
	ranks   []int           // of calls with blocks: those whose blocks are tracked, rising
	whole   map[int64]value // of a reduction, by element
	checked int64           // positions of results that were found right
}

// trackedCells bounds the tracked positions of all ranks' results.
const trackedCells = 1 << 20

// newSamples chooses positions: all where they are few, else the first, the last and
// some between them.
func newSamples(call algorithm.Call, with *algorithm.Algorithm, seed uint64, most int) *samples {
	s := &samples{call: call, with: with, seed: seed}
	room := max(2, min(trackedCells/call.Size, most))
	switch call.Op {
	case algorithm.Barrier:
	case algorithm.Broadcast, algorithm.Reduce, algorithm.AllReduce:
		s.at = choose(seed, call.Count, room)
	case algorithm.Scatter:
		s.at = choose(seed, call.Count, min(4, room))
	default:
		s.at = choose(seed, call.Count, min(4, room))
		for _, r := range choose(seed, int64(call.Size), max(2, room/4)) {
			s.ranks = append(s.ranks, int(r))
		}
	}
	s.whole = map[int64]value{}
	switch call.Op {
	case algorithm.Reduce, algorithm.AllReduce:
		for _, i := range s.at {
			s.whole[i] = whole(seed, call.Size, i)
		}
	case algorithm.ReduceScatter:
		for _, r := range s.ranks {
			for _, i := range s.at {
				e := int64(r)*call.Count + i
				s.whole[e] = whole(seed, call.Size, e)
			}
		}
	}
	return s
}

// choose are k of the numbers below n, rising, with the ends.
func choose(seed uint64, n int64, k int) []int64 {
	if n <= int64(k) {
		all := make([]int64, n)
		for i := range all {
			all[i] = int64(i)
		}
		return all
	}
	all := []int64{0, n - 1}
	for i := 2; i < k; i++ {
		all = append(all, int64(mix(seed+uint64(i))%uint64(n)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// given are the tracked positions of a rank's input.
func (s *samples) given(r int) cells {
	var all cells
	add := func(at int64) { all = append(all, cell{at, leaf(s.seed, r, at)}) }
	blocks := func(ranks []int) {
		for _, b := range ranks {
			for _, i := range s.at {
				add(int64(b)*s.call.Count + i)
			}
		}
	}
	switch s.call.Op {
	case algorithm.Broadcast:
		if r == s.call.Root {
			blocks([]int{0})
		}
	case algorithm.Reduce, algorithm.AllReduce:
		blocks([]int{0})
	case algorithm.ReduceScatter:
		blocks(s.ranks)
	case algorithm.AllGather, algorithm.Gather:
		if s.tracks(r) {
			blocks([]int{0})
		}
	case algorithm.Scatter, algorithm.AllToAll:
		if s.call.Op == algorithm.Scatter && r != s.call.Root || s.call.Op == algorithm.AllToAll && !s.tracks(r) {
			return nil
		}
		for b := range s.call.Size {
			blocks([]int{b})
		}
	}
	return all
}

func (s *samples) tracks(r int) bool {
	_, found := slices.BinarySearch(s.ranks, r)
	return found
}

// wanted are the tracked positions of a rank's result.
func (s *samples) wanted(r int) cells {
	var all cells
	n := s.call.Count
	switch s.call.Op {
	case algorithm.Broadcast:
		for _, i := range s.at {
			all = append(all, cell{i, leaf(s.seed, s.call.Root, i)})
		}
	case algorithm.Reduce, algorithm.AllReduce:
		if s.call.Op == algorithm.AllReduce || r == s.call.Root {
			for _, i := range s.at {
				all = append(all, cell{i, s.whole[i]})
			}
		}
	case algorithm.ReduceScatter:
		if s.tracks(r) {
			for _, i := range s.at {
				all = append(all, cell{i, s.whole[int64(r)*n+i]})
			}
		}
	case algorithm.Scatter:
		for _, i := range s.at {
			all = append(all, cell{i, leaf(s.seed, s.call.Root, int64(r)*n+i)})
		}
	case algorithm.AllGather, algorithm.Gather, algorithm.AllToAll:
		if s.call.Op == algorithm.Gather && r != s.call.Root {
			return nil
		}
		for _, q := range s.ranks {
			for _, i := range s.at {
				e := i
				if s.call.Op == algorithm.AllToAll {
					e = int64(r)*n + i
				}
				all = append(all, cell{int64(q)*n + i, leaf(s.seed, q, e)})
			}
		}
	}
	return all
}

// check compares a rank's result with what it must be.
func (s *samples) check(r int, got cells) error {
	want := s.wanted(r)
	for i, w := range want {
		if i >= len(got) || got[i].at != w.at {
			return fmt.Errorf("element %d of rank %d's result has not arrived", w.at, r)
		}
		g := got[i].v
		switch {
		case g.n != w.v.n || g.sum != w.v.sum:
			return fmt.Errorf("element %d of rank %d's result holds %d contributions, and not just one of each of the %d", w.at, r, max(0, g.n), w.v.n)
		case s.with.Ordered && (g.mul != w.v.mul || g.add != w.v.add):
			return fmt.Errorf("element %d of rank %d's result is not combined in the order of ranks", w.at, r)
		case s.call.Deterministic && g.tree != w.v.tree:
			return fmt.Errorf("element %d of rank %d's result is not combined in the canonical order", w.at, r)
		}
	}
	if len(got) > len(want) {
		return fmt.Errorf("rank %d's result has %d tracked elements, must have %d", r, len(got), len(want))
	}
	s.checked += int64(len(want))
	return nil
}
