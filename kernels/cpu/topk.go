package cpu

import (
	"context"
	"slices"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// topKShare is the share of rows, one in so many, from which on sorting all of
// them is no worse than picking some.
const topKShare = 16

// topKRows is how many rows are picked at most; more take sorting, which can
// be interrupted.
const topKRows = 1 << 17

// topK picks the rows that come first by the first level's words, keeping the
// least k of each worker in a heap, then among those that tie for the last
// places by the next level, and sorts what it picked.
func (l *loops) topK(ctx context.Context, s device.Stream, keys []kernels.SortKey, k int64) (*memory.Column, error) {
	n := keys[0].Values.Len()
	if kernels.IndexType(n).ID() == arrow.UINT32 {
		return firstRows[uint32](ctx, l, s, keys, n, k)
	}
	return firstRows[uint64](ctx, l, s, keys, n, k)
}

func firstRows[R row](ctx context.Context, l *loops, s device.Stream, keys []kernels.SortKey, n, k int64) (*memory.Column, error) {
	if k == 0 {
		return newOut(s, kernels.IndexType(n), 0).column(nil)
	}
	if k > n/topKShare || k > topKRows {
		all, err := sorted[R](ctx, l, s, keys, n)
		if err != nil || k == n {
			return all, err
		}
		defer all.Release()
		o := newOut(s, all.Type(), k)
		if err = o.values(); err == nil {
			copy(view[R](o, 1), memory.Values[R](all))
		}
		return o.column(err)
	}
	o := newOut(s, kernels.IndexType(n), k)
	err := o.values()
	var levels []level[R]
	if err == nil {
		if levels = seekable[R](keys); levels == nil {
			levels, err = plan[R](ctx, l, s, keys)
		}
	}
	if err == nil {
		p := &picker[R]{ctx: ctx, alloc: s.Device().Memory(), levels: levels}
		err = p.pick(view[R](o, 1), candidates[R]{n: n}, cursor{})
	}
	if err == nil {
		rows := view[R](o, 1)
		slices.Sort(rows)
		err = sortRows(ctx, l, s, levels, rows, true)
	}
	return o.column(err)
}

type picker[R row] struct {
	ctx    context.Context
	alloc  memory.Allocator
	levels []level[R]
}

// candidates are rows to pick from, rising: all n of them where rows is nil.
type candidates[R row] struct {
	rows []R
	n    int64
}

// each calls f with the words of candidates, block by block and morsel by
// morsel in parallel. of gives the row of a block's word.
func (p *picker[R]) each(c candidates[R], at cursor, f func(worker int, s span, words []uint64, of func(i int) R) error) error {
	l := &p.levels[at.level]
	return parallel(p.ctx, c.n, func(worker int, s span) error {
		room := new(scratch)
		for from := s.from; from < s.to; from += block {
			to := min(from+block, s.to)
			words := room.words[:to-from]
			of := func(i int) R { return R(from) + R(i) }
			var rows []R
			if c.rows != nil {
				rows = c.rows[from:to]
				of = func(i int) R { return rows[i] }
			}
			l.fill(words, room.raw[:], rows, from, at.depth)
			if err := f(worker, s, words, of); err != nil {
				return err
			}
		}
		return nil
	})
}

// pick puts len(to) of the candidates into to, those that come first.
func (p *picker[R]) pick(to []R, c candidates[R], at cursor) error {
	for {
		if at.level == len(p.levels) || c.n == int64(len(to)) {
			for i := range to {
				if to[i] = R(i); c.rows != nil {
					to[i] = c.rows[i]
				}
			}
			return nil
		}
		rest, err := p.step(&to, &c, &at)
		defer rest.Release() // holds the candidates of the next step
		if err != nil {
			return err
		}
	}
}

// step picks by one level: to becomes the places still open, c the rows that
// tie for them, which live in the buffer given back, and at the next level.
func (p *picker[R]) step(to *[]R, c *candidates[R], at *cursor) (*memory.Buffer, error) {
	k := len(*to)
	first, err := p.least(k, *c, *at)
	if err != nil {
		return nil, err
	}
	defer first.free()
	bound := first.pairs[k-1].word
	t := p.levels[at.level].text
	final := at.level == len(p.levels)-1 && (t == nil || !t.more(bound))
	less := 0
	for i, f := range first.pairs[:k] {
		if f.word < bound || final {
			(*to)[i] = f.row
			less++
		}
	}
	*to = (*to)[less:]
	if final {
		*to, *c, at.level = nil, candidates[R]{}, len(p.levels)
		return nil, nil
	}
	ties, rows, err := p.ties(*c, *at, bound)
	if err != nil {
		return nil, err
	}
	*c = candidates[R]{rows: rows, n: int64(len(rows))}
	if t != nil && t.more(bound) {
		at.depth, err = sharedBy(p.ctx, t, rows, at.depth+piece)
		return ties, err
	}
	*at = cursor{level: at.level + 1}
	return ties, nil
}

// ties collects the candidates whose word is bound.
func (p *picker[R]) ties(c candidates[R], at cursor, bound uint64) (*memory.Buffer, []R, error) {
	counts := make([]int64, morsels(c.n)+1)
	err := p.each(c, at, func(_ int, s span, words []uint64, _ func(int) R) error {
		for _, w := range words {
			if w == bound {
				counts[s.index+1]++
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range counts[1:] {
		counts[i+1] += counts[i]
	}
	var r R
	n := counts[len(counts)-1]
	room, err := memory.New(p.alloc, n*int64(unsafe.Sizeof(r)))
	if err != nil {
		return nil, nil, err
	}
	rows := memory.View[R](room)
	err = p.each(c, at, func(_ int, s span, words []uint64, of func(int) R) error {
		next := counts[s.index]
		for i, w := range words {
			if w == bound {
				rows[next] = of(i)
				next++
			}
		}
		counts[s.index] = next
		return nil
	})
	if err != nil {
		room.Release()
		return nil, nil, err
	}
	return room, rows, nil
}

// pair is a row and its word.
type pair[R row] struct {
	word uint64
	row  R
}

func (p pair[R]) less(q pair[R]) bool {
	return p.word < q.word || p.word == q.word && p.row < q.row
}

// kept are the least pairs of one worker: a heap, the greatest on top.
type kept[R row] struct {
	pairs []pair[R]
	room  *memory.Buffer
}

func (h *kept[R]) free() {
	if h != nil {
		h.room.Release()
	}
}

// least gives the k least pairs of the candidates, in order.
func (p *picker[R]) least(k int, c candidates[R], at cursor) (*kept[R], error) {
	var mu sync.Mutex
	heaps := map[int]*kept[R]{}
	defer func() {
		for _, h := range heaps {
			h.free()
		}
	}()
	of := func(worker int) (*kept[R], error) {
		mu.Lock()
		defer mu.Unlock()
		if heaps[worker] == nil {
			h, err := newKept[R](p.alloc, k)
			if err != nil {
				return nil, err
			}
			heaps[worker] = h
		}
		return heaps[worker], nil
	}
	var err error
	if l := &p.levels[at.level]; l.seek != nil && c.rows == nil {
		var rooms private[scratch]
		err = parallel(p.ctx, c.n, func(worker int, s span) error {
			h, err := of(worker)
			if err == nil {
				h.leastSought(l, rooms.of(worker), s, k)
			}
			return err
		})
	} else {
		err = p.each(c, at, func(worker int, s span, words []uint64, row func(int) R) error {
			h, err := of(worker)
			if err == nil {
				h.offer(words, row, k)
			}
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	total := 0
	for _, h := range heaps {
		total += len(h.pairs)
	}
	all, err := newKept[R](p.alloc, total)
	if err != nil {
		return nil, err
	}
	for _, h := range heaps {
		all.pairs = append(all.pairs, h.pairs...)
	}
	slices.SortFunc(all.pairs, func(a, b pair[R]) int {
		if a.less(b) {
			return -1
		}
		return 1 // rows differ
	})
	return all, nil
}

func newKept[R row](a memory.Allocator, k int) (*kept[R], error) {
	var p pair[R]
	room, err := memory.New(a, int64(k)*int64(unsafe.Sizeof(p)))
	if err != nil {
		return nil, err
	}
	return &kept[R]{memory.View[pair[R]](room)[:0], room}, nil
}

// offer takes in words whose rows are greater than those of all before.
func (h *kept[R]) offer(words []uint64, row func(int) R, k int) {
	i := 0
	for ; i < len(words) && len(h.pairs) < k; i++ {
		h.pairs = append(h.pairs, pair[R]{words[i], row(i)})
		if len(h.pairs) == k {
			for at := k/2 - 1; at >= 0; at-- {
				h.sink(at)
			}
		}
	}
	if i == len(words) {
		return
	}
	bound := h.pairs[0].word
	for ; i < len(words); i++ {
		if words[i] < bound { // of equal words the earlier row stays
			h.pairs[0] = pair[R]{words[i], row(i)}
			h.sink(0)
			bound = h.pairs[0].word
		}
	}
}

// sink moves the pair at a place of the heap down to where it belongs.
func (h *kept[R]) sink(at int) {
	v := h.pairs
	for {
		child := 2*at + 1
		if child >= len(v) {
			return
		}
		if child+1 < len(v) && v[child].less(v[child+1]) {
			child++
		}
		if !v[at].less(v[child]) {
			return
		}
		v[at], v[child] = v[child], v[at]
		at = child
	}
}
