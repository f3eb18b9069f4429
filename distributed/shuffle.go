package distributed

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/table"
)

// By is how Shuffle spreads rows: Hash, Range or RoundRobin.
type By struct {
	scheme Scheme
	keys   []string
	orders []table.Order
}

// Hash spreads rows by the hash of columns: rows that are equal in them, nulls and NaNs too, are
// on one rank. There are more buckets of hashes than ranks, and they are dealt out by how many
// rows are in them.
func Hash(columns ...string) By { return By{scheme: Hashed, keys: columns} }

// Range spreads rows by ranges of keys: all of rank r come before those of rank r+1 in that
// order. Ranks get as many rows, within some percent, whatever the keys are: rows of one key may be
// on several ranks that follow each other, in their order.
func Range(keys ...table.Order) By { return By{scheme: Ranged, orders: keys} }

// RoundRobin gives row i, counted over all ranks, to rank i modulo their number.
func RoundRobin() By { return By{} }

// text is the argument in words.
func (b By) text() string {
	switch b.scheme {
	case Hashed:
		return "by hash of " + strings.Join(b.keys, ", ")
	case Ranged:
		var all []string
		for _, o := range b.orders {
			all = append(all, o.String())
		}
		return "by range of " + strings.Join(all, ", ")
	}
	return "round robin"
}

// Shuffle moves rows to the ranks that by says. A table that is spread by the hash of the
// same columns already is given as it is.
//
// Order: by the rank that a row was on, and then, for Hash and RoundRobin, as it was there; for
// Range, of each of these ranks, in the order of the keys.
func (d *Table) Shuffle(ctx context.Context, by By) (*Table, error) {
	o := d.start(ctx, "Shuffle", by.text())
	switch by.scheme {
	case Hashed:
		return o.byHash(d, by.keys)
	case Ranged:
		return o.byRange(d, by.orders)
	}
	return o.roundRobin(d)
}

// once is this rank's share of a table of which every row is on one rank: the part, or of a
// replicated table some of it, as a new reference. Its order over all ranks is the table's.
func (o *op) once(d *Table) *table.Table {
	return o.table(func() (*table.Table, error) {
		if d.by.Scheme != Replicated {
			return d.part.Retain(), nil
		}
		n, rank, size := d.part.NumRows(), int64(o.comm.Rank()), int64(o.comm.Size())
		return sliced(d.part, n*rank/size, n*(rank+1)/size)
	})
}

// before is how many rows of the table are on lower ranks, counted as once gives them.
func (d *Table) before() int64 {
	rank := d.comm.Rank()
	if d.by.Scheme == Replicated {
		return d.counts[0] * int64(rank) / int64(len(d.counts))
	}
	return sum(d.counts[:rank])
}

// sliced is the rows [from, to) of a table, without a copy.
func sliced(t *table.Table, from, to int64) (*table.Table, error) {
	chunks, err := batches(t, from, to)
	if err != nil {
		return nil, err
	}
	return table.NewTable(t.Backend(), t.Schema(), chunks)
}

// batches is the rows [from, to) of a table as batches.
func batches(t *table.Table, from, to int64) (list []*table.Batch, err error) {
	at := int64(0)
	for _, b := range t.Chunks() {
		first, last := max(from, at), min(to, at+b.Len())
		if first < last {
			piece, err := b.Slice(first-at, last-first)
			if err != nil {
				pieces{list}.release()
				return nil, err
			}
			list = append(list, piece)
		}
		at += b.Len()
	}
	return list, nil
}

// byHash is the Shuffle by hash.
func (o *op) byHash(d *Table, keys []string) (*Table, error) {
	var types []arrow.DataType
	o.do(func() (err error) {
		types, err = keyTypes(d.Schema(), keys)
		return err
	})
	if o.meet() != nil {
		return nil, o.ended
	}
	if d.by.hashes(keys, types) && d.by.Together(keys...) {
		return o.finish(d.part, d.by)
	}
	part := o.once(d)
	got, by := o.hashShuffle(part, d.Schema(), keys, types, nil)
	defer got.Release()
	return o.finish(got, by)
}

// hashes reports whether rows are spread by the hash of just these keys, in this order, in types of which equal
// values hash alike.
func (p Partitioning) hashes(keys []string, types []arrow.DataType) bool {
	if p.Scheme != Hashed || !slices.Equal(p.Keys, keys) {
		return false
	}
	for i, t := range types {
		if !hashAlike(p.Types[i], t) {
			return false
		}
	}
	return true
}

// hashShuffle moves the rows of all ranks' tables, which it takes over, by the hash of keys: to the ranks of the buckets
// given, or where they are nil of buckets that are dealt out by size. It gives what this rank
// gets, nil where there was an error, and how the rows are spread then.
func (o *op) hashShuffle(part *table.Table, schema *arrow.Schema, keys []string, types []arrow.DataType, buckets []int32) (*table.Table, Partitioning) {
	h := o.hash(part, keys, types, false)
	part.Release()
	defer h.release()
	if buckets == nil {
		sizes := make([]int64, bucketsPerRank*o.comm.Size())
		h.count(sizes, 1, nil)
		if sizes = o.sums(len(sizes), sizes); sizes == nil {
			return nil, Partitioning{}
		}
		buckets = dealt(sizes, o.comm.Size())
	}
	got := o.shuffled(h, schema, way{buckets: buckets})
	return got, Partitioning{Scheme: Hashed, Keys: slices.Clone(keys), Types: types, Buckets: buckets}
}

// roundRobin is the Shuffle that deals rows out one by one.
func (o *op) roundRobin(d *Table) (*Table, error) {
	if o.meet() != nil {
		return nil, o.ended
	}
	part := o.once(d)
	defer part.Release()
	first := d.before()
	all := make(pieces, o.comm.Size())
	defer func() { all.release() }()
	o.do(func() error {
		s, err := o.backend.NewStream()
		if err != nil {
			return err
		}
		defer s.Close()
		cut := &straight{op: o}
		cut.cut(part)
		for _, r := range cut.rounds {
			for _, p := range r.pieces {
				b, err := p.b.Slice(p.at, p.n)
				if err != nil {
					return err
				}
				err = o.scatter(s, b, all, func(dest []int32, from int) {
					for i := range dest {
						dest[i] = int32((first + int64(from+i)) % int64(len(all)))
					}
				})
				b.Release()
				if err != nil {
					return err
				}
				first += p.n
			}
		}
		return s.Wait(o.ctx)
	})
	got := o.deal(d.Schema(), all)
	defer got.Release()
	return o.finish(got, Partitioning{})
}
