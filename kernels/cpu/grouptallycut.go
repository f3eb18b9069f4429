package cpu

import (
	"math/bits"
	"sync/atomic"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// firstCut puts groups in the order of their first rows where there may be as
// many as rows. As soon as the part that they are in is done, their sums and
// counts are cut by first row into pieces of rows, each with room for a group a
// row. Within pieces, which second-level caches hold, they are written where they
// belong, an aggregate at a time, and what an aggregate does not need any more is
// given back: beside a result of one sum and one count there are never more bytes
// than these have. Keys are those of the first rows, read in order.
type firstCut[S float64 | int64] struct {
	*tallying[S]
	sums   vec[S]
	counts vec[uint64]             // of rows; above them the first row, then the place within the piece
	next   []atomic.Uint32         // of each piece, where the next group goes
	starts []int                   // of each piece, the row of the result
	shift  uint                    // of a row, its piece
	first  vec[uint64]             // a bit for each row that is the first of its group
	lines  *perWorker[*groupLines] // where groups go by way of lines
}

// cutPieces is how many pieces rows are cut into at most, if each is larger than
// rankedPiece.
const cutPieces = 1 << 11

func newFirstCut[S float64 | int64](t *tallying[S]) (c *firstCut[S], err error) {
	c = &firstCut[S]{tallying: t, shift: uint(max(bits.Len(rankedPiece-1), bits.Len64(uint64(t.n-1)/cutPieces)))}
	c.next = make([]atomic.Uint32, (t.n-1)>>c.shift+1)
	for i := range c.next {
		c.next[i].Store(uint32(i) << c.shift)
	}
	if c.sums, err = newVec[S](t.a, int(t.n)); err == nil {
		c.counts, err = newVec[uint64](t.a, int(t.n))
	}
	if from := t.l.lines.cutFrom; from > 0 && t.n >= int64(from) {
		c.lines = &perWorker[*groupLines]{make: func() (*groupLines, error) { return newGroupLines(len(c.next)), nil }}
	}
	return c, err
}

// add cuts the groups of an array, which it changes. Several workers may do so at
// once; where in its piece a group comes is left to chance.
func (c *firstCut[S]) add(worker int, array []tally[S]) error {
	n := 0
	for i := range array {
		t := array[i]
		array[n] = t
		n += int(differs(t.counts, 0))
	}
	array = array[:n]
	if c.lines != nil {
		g, err := c.lines.of(worker)
		if err == nil {
			c.addLines(g, array)
		}
		return err
	}
	at, piece := make([]uint32, len(c.next)), (32+c.shift)&63
	for i := range array {
		at[array[i].counts>>piece]++
	}
	for i, n := range at {
		if n > 0 {
			at[i] = c.next[i].Add(n) - n
		}
	}
	sums, counts := c.sums.s, c.counts.s
	for i := range array {
		t := &array[i]
		to := &at[t.counts>>piece]
		sums[*to], counts[*to] = t.sum, t.counts
		*to++
	}
	return nil
}

// put writes the results.
func (c *firstCut[S]) put() (err error) {
	c.starts = make([]int, len(c.next)+1)
	for i := range c.next {
		c.starts[i+1] = c.starts[i] + int(c.next[i].Load()-uint32(i)<<c.shift)
	}
	if c.first, err = newVec[uint64](c.a, int(c.n+63)/64); err != nil {
		return err
	}
	befores := perWorker[[]uint32]{make: func() ([]uint32, error) { return make([]uint32, 1<<c.shift/64), nil }}
	err = tasks(c.ctx, len(c.next), func(worker, i int) error {
		before, err := befores.of(worker)
		c.order(i, before)
		return err
	})
	if err != nil {
		return err
	}
	for _, sums := range []bool{true, false} {
		for _, f := range c.out.aggs {
			if sums != (f.agg.Op == kernels.Sum || f.agg.Op == kernels.SumWrapping || f.agg.Op == kernels.Mean) {
				continue
			}
			if err := f.out.start(c.starts[len(c.next)]); err != nil {
				return err
			}
			err := tasks(c.ctx, len(c.next), func(_, i int) error {
				from, n := i<<c.shift, c.starts[i+1]-c.starts[i]
				putPlaced(f, c.starts[i], c.sums.s[from:][:n], c.counts.s[from:][:n])
				return nil
			})
			if err != nil {
				return err
			}
		}
		if sums {
			c.a.drop(c.sums.b)
		}
	}
	c.a.drop(c.counts.b)
	for _, k := range c.out.keys {
		if err := k.start(c.starts[len(c.next)]); err != nil {
			return err
		}
	}
	err = tasks(c.ctx, len(c.next), func(_, i int) error {
		b, _ := c.rooms.get()
		defer c.rooms.put(b)
		c.putKeys(b, i)
		return nil
	})
	c.a.drop(c.first.b)
	return err
}

// order finds the places of a piece's groups within it.
func (c *firstCut[S]) order(i int, before []uint32) {
	from, n := i<<c.shift, c.starts[i+1]-c.starts[i]
	counts := c.counts.s[from:][:n]
	first := c.first.s[from>>6 : min(len(c.first.s), (from+1<<c.shift)>>6)]
	clear(first)
	for _, v := range counts {
		row := v>>32 - uint64(from)
		first[row>>6] |= 1 << (row & 63)
	}
	sum := 0
	for j, w := range first {
		before[j] = uint32(sum)
		sum += bits.OnesCount64(w)
	}
	for k, v := range counts {
		row := v>>32 - uint64(from)
		place := uint64(before[row>>6]) + uint64(bits.OnesCount64(first[row>>6]&(1<<(row&63)-1)))
		counts[k] = place<<32 | v&(1<<32-1)
	}
}

// putPlaced writes an aggregate of groups whose places, counted from at, are
// above their counts.
func putPlaced[S float64 | int64](f *tallyAgg, at int, sums []S, counts []uint64) {
	if f.mayNull {
		need, _ := f.rule()
		for _, v := range counts {
			if int64(uint32(v)) < need {
				f.out.null(uint32(at) + uint32(v>>32))
			}
		}
	}
	n := len(counts)
	switch f.agg.Op {
	case kernels.CountAll, kernels.Count:
		to := memory.View[int64](f.out.values)[at:][:n]
		for _, v := range counts {
			to[v>>32] = int64(uint32(v))
		}
	case kernels.Sum, kernels.SumWrapping:
		to := memory.View[S](f.out.values)[at:][:n]
		for k, v := range counts {
			to[v>>32] = sums[k]
		}
	default: // Mean
		to := memory.View[float64](f.out.values)[at:][:n]
		for k, v := range counts {
			to[v>>32] = float64(sums[k]) / float64(uint32(v))
		}
	}
}

// putKeys writes the keys of a piece's groups.
func (c *firstCut[S]) putKeys(b *tallyBatch[S], i int) {
	at := c.starts[i]
	for from, last := int64(i)<<c.shift, min(c.n, int64(i+1)<<c.shift); from < last; from += tallyStep {
		words := c.loadWords(b, from, int(min(tallyStep, last-from)))
		k, to := 0, &b.outWords
		if b.rows != nil {
			for j, w := range words {
				row := b.rows[j]
				to[k&(tallyStep-1)] = w
				k += int(c.first.s[row>>6] >> (row & 63) & 1)
			}
		} else {
			for j := 0; j < len(words); j += 64 {
				bits := c.first.s[(from+int64(j))>>6]
				for x, w := range words[j:min(j+64, len(words))] {
					to[k&(tallyStep-1)] = w - c.base
					k += int(bits >> (uint(x) & 63) & 1)
				}
			}
		}
		for _, key := range c.out.keys {
			key.put(at, to[:k])
		}
		at += k
	}
}
