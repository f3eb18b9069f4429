package cpu

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Grouping goes one of two ways, by the number of groups that a sample shows.
//
// Few groups: every worker finds the distinct keys of its morsels in a table
// of its own; merged, they make one table that all workers look rows up in.
//
// Many groups: row numbers are partitioned by key, so that the table of each
// partition stays in the second-level cache, and a worker takes a partition
// with its rows in order. When row numbers would take too much memory it is
// done in rounds, a range of partitions at a time.
//
// Which way it goes, and how rows are cut, depends on the data alone.
const (
	leastGuess  = 1 << 10   // as many groups are room for, whatever the guess
	fewGuess    = 160 << 10 // the first way is tried up to that guess
	fewGroups   = 256 << 10 // and given up above that many groups
	smallRows   = 1 << 17   // but never among so few rows
	fewPlaces   = 1 << 18   // and always taken where words are no more than these
	manyGroups  = 16 << 10  // groups of a partition
	mostParts   = 1 << 11
	densePlaces = 1 << 17 // places of a partition's array
	maxRows     = 1<<32 - 2
)

var uint32Type arrow.DataType = arrow.PrimitiveTypes.Uint32

// grouping is one call that groups rows.
type grouping struct {
	ctx   context.Context
	a     *arena
	ks    *keyspace
	n     int64 // rows
	bytes int64 // bytes of input for each row; sets how much scratch may be used
	guess int64
}

// tooLong refuses more rows than row numbers of 32 bits can count.
func tooLong(n int64) error {
	if n > maxRows {
		return device.Errorf(device.ErrUnsupported, "cpu", "", "%d rows in one call; the generic tier takes up to %d", n, int64(maxRows))
	}
	return nil
}

func newGrouping(ctx context.Context, a *arena, l *loops, keys []*memory.Column, dropNulls bool) (*grouping, error) {
	n := keys[0].Len()
	if err := tooLong(n); err != nil {
		return nil, err
	}
	ks, err := newGroupKeyspace(ctx, a, l, keys, dropNulls)
	if err != nil {
		return nil, err
	}
	return groupingOf(ctx, a, ks, n), nil
}

// groupingOf groups n rows by a keyspace; its own memory is from a.
func groupingOf(ctx context.Context, a *arena, ks *keyspace, n int64) *grouping {
	g := &grouping{ctx: ctx, a: a, ks: ks, n: n, guess: int64(ks.card)}
	if ks.card == 0 || ks.card > leastGuess {
		g.guess = estimateGroups(ks, n, ks.card)
	}
	for _, k := range ks.cols {
		g.bytes += rowBytes(k.c)
	}
	return g
}

// rowBytes is about how many bytes a row of a column takes.
func rowBytes(c *memory.Column) int64 {
	switch memory.LayoutOf(c.Type()) {
	case memory.LayoutBinary, memory.LayoutLargeBinary:
		return 8
	default:
		return int64(memory.Width(c.Type()))
	}
}

// small says that words are few enough for an array over so many rows.
func (ks *keyspace) small(rows int64) bool {
	return ks.card != 0 && ks.card <= uint64(4*rows+1024)
}

// fewWords says that an array has a place for every word.
func (g *grouping) fewWords() bool { return g.ks.small(g.n) && g.ks.card <= fewPlaces }

// few is the first way: a table of all groups, numbered in order of first
// appearance, or nil when there are too many.
func (g *grouping) few() (*grouper, error) {
	dense := g.fewWords()
	if g.guess > fewGuess && g.n > smallRows && !dense {
		return nil, nil
	}
	reset := func(t *grouper) error {
		if dense {
			return t.resetDense(int(g.ks.card), ^uint64(0))
		}
		return t.resetHash(int(min(2*g.guess, fewGroups)))
	}
	type worker struct {
		*grouper
		*batch
	}
	// A table stays with one worker, which takes morsels in rising order.
	tables := perWorker[worker]{make: func() (worker, error) {
		t := newGrouper(g.a, g.ks)
		return worker{t, takeBatch()}, reset(t)
	}}
	tooMany := func(t *grouper) bool { return !dense && g.n > smallRows && t.count() > fewGroups }
	err := parallel(g.ctx, g.n, func(number int, s span) error {
		w, err := tables.of(number)
		if err != nil {
			return err
		}
		return batches(w.batch, s.from, s.to, func() error {
			if tooMany(w.grouper) {
				return nil
			}
			if g.ks.fill(w.batch) {
				w.compact()
			}
			return w.insert(w.batch)
		})
	})
	if err != nil {
		return nil, err
	}
	return g.merge(func() []*grouper {
		var all []*grouper
		for _, w := range tables.all {
			all = append(all, w.grouper)
			w.batch.give()
		}
		return all
	}(), reset, tooMany)
}

// merge makes one table of those of all workers. A worker meets rows in rising
// order, so the first row of a group is the least of the workers' first rows.
func (g *grouping) merge(tables []*grouper, reset func(*grouper) error, tooMany func(*grouper) bool) (*grouper, error) {
	total := newGrouper(g.a, g.ks)
	if err := reset(total); err != nil {
		return nil, err
	}
	var firsts []uint32
	over := false
	for _, t := range tables {
		over = over || tooMany(t)
		firsts = append(firsts, t.firsts.s...)
		t.free()
	}
	if over {
		total.free()
		return nil, nil
	}
	slices.Sort(firsts)
	b := takeBatch()
	defer b.give()
	for len(firsts) > 0 {
		k := min(batchRows, len(firsts))
		b.gather(firsts[:k])
		g.ks.fill(b)
		if err := total.insert(b); err != nil {
			return nil, err
		}
		firsts = firsts[k:]
	}
	if tooMany(total) {
		total.free()
		return nil, nil
	}
	return total, nil
}

// free gives a table's memory back before the end of the call.
func (g *grouper) free() {
	g.a.drop(g.dense.b)
	g.a.drop(g.slots.b)
	g.a.drop(g.firsts.b)
	g.a.drop(g.texts.b)
	g.dense, g.slots, g.firsts, g.texts = vec[uint32]{}, vec[slot]{}, vec[uint32]{}, vec[textKey]{}
}
