package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// tallyOut are the results of a tallying: keys, made of their words, and
// aggregates. Several workers write different rows of it at once.
type tallyOut[S float64 | int64] struct {
	a     *arena
	keys  []*tallyKey
	aggs  []*tallyAgg
	text  bool // the key is one column of short texts
	large bool // with offsets of 64 bits
	whole *memory.Column
}

type tallyKey struct {
	*aggOut
	k    *keyColumn
	mask uint64
}

type tallyAgg struct {
	*finish
	mayNull bool
}

// newTallyOut is nil for keys that cannot be made of their words.
func newTallyOut[S float64 | int64](a *arena, ks *keyspace, aggs []kernels.Aggregate, nulls bool) (*tallyOut[S], error) {
	o := &tallyOut[S]{a: a}
	if len(ks.cols) == 1 && !ks.exact {
		switch ks.cols[0].c.Type().ID() {
		case arrow.STRING, arrow.BINARY:
			o.text = true
		case arrow.LARGE_STRING, arrow.LARGE_BINARY:
			o.text, o.large = true, true
		}
	}
	if !o.text {
		if !ks.exact {
			return nil, nil
		}
		for _, k := range ks.cols {
			t := k.c.Type()
			if !plainWord(t.ID()) {
				return nil, nil
			}
			mask := uint64(0)
			if k.bits > 0 {
				mask = ^uint64(0) >> (64 - k.bits)
			}
			o.keys = append(o.keys, &tallyKey{&aggOut{a: a, t: t, dict: k.c.Dictionary()}, k, mask})
		}
	}
	for _, agg := range aggs {
		var from arrow.DataType
		if agg.Values != nil {
			from = agg.Values.Type()
		}
		t, err := kernels.AggregateType(agg.Op, from)
		if err != nil {
			return nil, err
		}
		f := &tallyAgg{finish: &finish{agg: agg, out: &aggOut{a: a, t: t}}}
		need, keep := f.rule()
		f.mayNull = need > 1 || nulls && (need > 0 || keep)
		o.aggs = append(o.aggs, f)
	}
	return o, nil
}

// plainWord says that values can be made of their codes: no float, whose zeros
// are two, and no text but by way of a dictionary.
func plainWord(id arrow.Type) bool {
	switch id {
	case arrow.NULL, arrow.BOOL, arrow.FLOAT32, arrow.FLOAT64, arrow.DECIMAL128:
		return false
	case arrow.DICTIONARY:
		return true
	}
	return kernels.FixedTypes.Has(id)
}

// start allocates n rows.
func (o *tallyOut[S]) start(n int) error {
	for _, k := range o.keys {
		if err := k.start(n); err != nil {
			return err
		}
	}
	for _, f := range o.aggs {
		if err := f.out.start(n); err != nil {
			return err
		}
	}
	return nil
}

// put writes groups from row at on.
func (o *tallyOut[S]) put(at int, words []uint64, tallies []tally[S]) {
	for _, k := range o.keys {
		k.put(at, words)
	}
	o.putAggs(at, tallies)
}

func (o *tallyOut[S]) putAggs(at int, tallies []tally[S]) {
	for _, f := range o.aggs {
		if f.mayNull {
			need, keep := f.rule()
			for i, t := range tallies {
				if values := t.counts >> 32; int64(values) < need || keep && values < uint64(uint32(t.counts)) {
					f.out.null(uint32(at + i))
				}
			}
		}
		switch f.agg.Op {
		case kernels.CountAll:
			for i, to := 0, memory.View[int64](f.out.values)[at:][:len(tallies)]; i < len(to); i++ {
				to[i] = int64(uint32(tallies[i].counts))
			}
		case kernels.Count:
			for i, to := 0, memory.View[int64](f.out.values)[at:][:len(tallies)]; i < len(to); i++ {
				to[i] = int64(tallies[i].counts >> 32)
			}
		case kernels.Sum, kernels.SumWrapping:
			for i, to := 0, memory.View[S](f.out.values)[at:][:len(tallies)]; i < len(to); i++ {
				to[i] = tallies[i].sum
			}
		default: // Mean
			for i, to := 0, memory.View[float64](f.out.values)[at:][:len(tallies)]; i < len(to); i++ {
				to[i] = float64(tallies[i].sum) / float64(tallies[i].counts>>32)
			}
		}
	}
}

// putDense writes the groups of an array: place i is the word first+i<<shift|low.
func (o *tallyOut[S]) putDense(b *tallyBatch[S], at int, array []tally[S], first uint64, shift uint, low uint64) int {
	words, outs := &b.outWords, &b.outs
	for i := 0; i < len(array); i += tallyStep {
		k := 0
		for j, t := range array[i:min(i+tallyStep, len(array))] {
			words[k&(tallyStep-1)], outs[k&(tallyStep-1)] = (first+uint64(i+j))<<shift|low, t
			if t.counts != 0 {
				k++
			}
		}
		o.put(at, words[:k], outs[:k])
		at += k
	}
	return at
}

func (k *tallyKey) put(at int, words []uint64) {
	switch memory.Width(k.t) {
	case 1:
		putKeys[uint8](k, at, words)
	case 2:
		putKeys[uint16](k, at, words)
	case 4:
		putKeys[uint32](k, at, words)
	default:
		putKeys[uint64](k, at, words)
	}
}

func putKeys[T uint8 | uint16 | uint32 | uint64](k *tallyKey, at int, words []uint64) {
	to := memory.View[T](k.values)[at:][:len(words)]
	base, shift, mask := k.k.base, k.k.shift, k.mask
	if k.k.words != nil && !k.k.indexed {
		for i, w := range words {
			if code := w >> shift & mask; code <= k.k.span && k.k.words.n > 0 {
				to[i] = T(k.k.words.first(uint32(code)))
			}
		}
	} else {
		for i, w := range words {
			to[i] = T(w>>shift&mask + base)
		}
	}
	if k.k.nullable && !k.k.drop {
		for i, w := range words {
			if w>>shift&mask == k.k.null {
				to[i] = 0
				k.null(uint32(at + i))
			}
		}
	}
}

// grouped are the finished columns.
func (o *tallyOut[S]) grouped() (g *kernels.Grouped, err error) {
	g = &kernels.Grouped{}
	add := func(to *[]*memory.Column, out *aggOut) {
		if err != nil {
			return
		}
		var c *memory.Column
		if c, err = out.column(); err == nil {
			*to = append(*to, c)
		}
	}
	if o.whole != nil {
		g.Keys, o.whole = append(g.Keys, o.whole), nil
	}
	for _, k := range o.keys {
		add(&g.Keys, k.aggOut)
	}
	for _, f := range o.aggs {
		add(&g.Values, f.out)
	}
	if err != nil {
		g.Release()
		return nil, err
	}
	return g, nil
}

// close moves rows together that were written where there was room for more:
// of piece i found[i] rows from rooms[i] on.
func (o *tallyOut[S]) close(ctx context.Context, rooms, found []int) error {
	n := 0
	starts := make([]int, len(found))
	for i, k := range found {
		starts[i] = n
		n += k
	}
	if n == rooms[len(found)] {
		return nil
	}
	for _, out := range o.outs() {
		from, nulls := *out, memory.Bitmap(out.nulls.b.Bytes())
		if err := out.start(n); err != nil {
			return err
		}
		width := memory.Width(out.t)
		some := nulls.Count(0, int64(from.n)) > 0
		err := tasks(ctx, len(found), func(_, i int) error {
			k := found[i] * width
			copy(out.values.Bytes()[starts[i]*width:][:k], from.values.Bytes()[rooms[i]*width:][:k])
			for j := 0; some && j < found[i]; j++ {
				if nulls.Get(int64(rooms[i] + j)) {
					out.null(uint32(starts[i] + j))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		o.a.drop(from.nulls.b)
		o.a.drop(from.values)
	}
	return nil
}

// outs are all columns in the making.
func (o *tallyOut[S]) outs() []*aggOut {
	var all []*aggOut
	for _, k := range o.keys {
		all = append(all, k.aggOut)
	}
	for _, f := range o.aggs {
		all = append(all, f.out)
	}
	return all
}
