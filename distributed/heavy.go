package distributed

import (
	"cmp"
	"slices"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/memory"
)

// Keys that are frequent on a side of a join are found by samples of the hashes of its rows.
const (
	// heavyShare is how many times the rows of a heavy key are of a rank's share: one in so many.
	heavyShare = 4
	// sampledLeast is how many rows of a rank are sampled at least, and sampledPerRank how many
	// for each rank there is: of a key that is just heavy some 64.
	sampledLeast   = 4096
	sampledPerRank = 64 * heavyShare
)

// heavyLeast is how many rows a heavy key has at least: fewer are no load for one rank, and the result is
// spread by the hash of the keys then. Tests have fewer.
var heavyLeast = int64(1 << 10)

// samples counts the hashes of rows at even distances: each stands for so many rows.
func (h *hashed) samples(ranks int) (counts map[uint64]int64, each int64) {
	counts = map[uint64]int64{}
	if h == nil {
		return counts, 1
	}
	each = max(1, h.t.NumRows()/int64(max(sampledLeast, sampledPerRank*ranks)))
	next := int64(0)
	for k, c := range h.hashes {
		values, marks := memory.Values[uint64](c), h.nulls[k]
		for ; next < c.Len(); next += each {
			if marks == nil || !marks[next] {
				counts[values[next]]++
			}
		}
		next -= c.Len()
	}
	return counts, each
}

// heavy finds the keys that are frequent on a side, whose rows stay then while all ranks get the
// other side's rows of them, for kinds that allow that. It gives the two sides' ways, alike on all ranks.
func (s *shuffling) heavy(hashes [2]*hashed) (ways [2]way) {
	if !s.all[0] && !s.all[1] {
		return ways
	}
	ranks := s.comm.Size()
	var counts [2]map[uint64]int64
	var each [2]int64
	var own []int64
	for side, d := range [2]*Table{s.left, s.right} {
		counts[side], each[side] = hashes[side].samples(ranks)
		if s.all[1-side] && d.NumRows() > 0 {
			own = append(own, frequent(counts[side], ranks)...)
		}
	}
	candidates := s.gathered(own, 2*2*heavyShare*ranks)
	if len(candidates) == 0 {
		return ways
	}
	rows := make([]int64, 2*len(candidates))
	for side := range counts {
		for i, h := range candidates {
			rows[2*i+side] = counts[side][uint64(h)] * each[side]
		}
	}
	if rows = s.sums(len(rows), rows); rows == nil {
		return ways
	}
	ways[0].heavy, ways[1].heavy = map[uint64]bool{}, map[uint64]bool{}
	for i, h := range candidates {
		var heavy [2]bool
		for side, d := range [2]*Table{s.left, s.right} {
			heavy[side] = s.all[1-side] && rows[2*i+side] > max(heavyLeast, d.NumRows()/int64(heavyShare*ranks))
		}
		if heavy[0] && heavy[1] { // the side with more rows of it stays
			heavy[1] = rows[2*i+1] > rows[2*i]
			heavy[0] = !heavy[1]
		}
		if heavy[0] || heavy[1] {
			ways[0].heavy[uint64(h)], ways[1].heavy[uint64(h)] = !heavy[0], !heavy[1]
		}
	}
	return ways
}

// frequent are hashes that more than half of a heavy key's share of the samples have: some rank has as many
// of every heavy key. There are no more than twice heavyShare for each rank.
func frequent(counts map[uint64]int64, ranks int) []int64 {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	var all []int64
	for h, n := range counts {
		if n > 1 && n > total/int64(2*heavyShare*ranks) {
			all = append(all, int64(h))
		}
	}
	slices.SortFunc(all, func(a, b int64) int {
		return cmp.Or(cmp.Compare(counts[uint64(b)], counts[uint64(a)]), cmp.Compare(a, b))
	})
	return all[:min(len(all), 2*heavyShare*ranks)]
}

// gathered is what all ranks list, up to most numbers each, sorted and each once.
func (o *op) gathered(own []int64, most int) []int64 {
	said := o.words([]int64{int64(len(own))})
	width := int64(0)
	for _, n := range said {
		width = max(width, n[0])
	}
	if width == 0 {
		return nil
	}
	width = min(width, int64(most))
	flat, all := make([]int64, width), make([]int64, width*int64(len(said)))
	copy(flat, own)
	if err := o.comm.AllGather(o.ctx, collective.Of(flat), collective.Of(all)); err != nil {
		o.end(err)
		return nil
	}
	var list []int64
	for r, n := range said {
		list = append(list, all[int64(r)*width:int64(r)*width+min(n[0], width)]...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
