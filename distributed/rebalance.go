package distributed

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// Measure is what Rebalance makes equal.
type Measure int

// The measures.
const (
	ByRows  Measure = iota // the ranks' numbers of rows, to within one
	ByBytes                // about the ranks' bytes
)

// String is the measure in a word.
func (m Measure) String() string {
	if m == ByBytes {
		return "bytes"
	}
	return "rows"
}

// Rebalance gives every rank as many rows, those of lower ranks one more, or with ByBytes about as
// many bytes. Rows move between the ends of neighbours, and no more of them than must.
//
// Order: kept.
func (d *Table) Rebalance(ctx context.Context, by ...Measure) (*Table, error) {
	m := ByRows
	if len(by) > 0 {
		m = by[len(by)-1]
	}
	o := d.start(ctx, "Rebalance", "by "+m.String())
	if m != ByRows && m != ByBytes {
		o.fail(fmt.Errorf("%w: measure %d", device.ErrUnsupported, int(m)))
	}
	if o.meet() != nil {
		return nil, o.ended
	}
	if m == ByBytes {
		return o.contiguous(d, d.byBytes())
	}
	n, size := d.NumRows(), int64(len(d.counts))
	counts := make([]int64, size)
	for r := range counts {
		counts[r] = n / size
		if int64(r) < n%size {
			counts[r]++
		}
	}
	return o.contiguous(d, counts)
}

// Repartition gives rank r counts[r] rows, which all ranks give alike and which are as many as
// there are. No more rows move than must.
//
// Order: kept.
func (d *Table) Repartition(ctx context.Context, counts []int64) (*Table, error) {
	o := d.start(ctx, "Repartition", fmt.Sprintf("to %v", counts))
	switch {
	case len(counts) != len(d.counts):
		o.fail(fmt.Errorf("%w: %d counts for %d ranks", device.ErrMismatch, len(counts), len(d.counts)))
	case len(counts) > 0 && slices.Min(counts) < 0:
		o.fail(fmt.Errorf("%w: counts %v: one is negative", device.ErrMismatch, counts))
	case !sumsTo(counts, d.NumRows()):
		o.fail(fmt.Errorf("%w: counts %v for %d rows", device.ErrMismatch, counts, d.NumRows()))
	}
	if o.meet() != nil {
		return nil, o.ended
	}
	return o.contiguous(d, counts)
}

// sumsTo reports whether numbers that are not negative add up to n.
func sumsTo(counts []int64, n int64) bool {
	for _, c := range counts {
		if c > n {
			return false
		}
		n -= c
	}
	return n == 0
}

// onceCounts are the numbers of rows that once gives the ranks.
func (d *Table) onceCounts() []int64 {
	if d.by.Scheme != Replicated {
		return d.counts
	}
	n, size := d.counts[0], int64(len(d.counts))
	counts := make([]int64, size)
	for r := range size {
		counts[r] = n*(r+1)/size - n*r/size
	}
	return counts
}

// byBytes are numbers of rows of which every rank has about as many bytes, where the rows that a rank
// has now are all of its mean length.
func (d *Table) byBytes() []int64 {
	have := d.onceCounts()
	total, size := sum(d.bytes), int64(len(have))
	counts := make([]int64, size)
	var rank, before, rows, given int64 // before: bytes, and rows, of the ranks under rank
	for r := range size {
		goal := share(total, r+1, size)
		for rank < size && before+d.bytes[rank] <= goal {
			before, rows = before+d.bytes[rank], rows+have[rank]
			rank++
		}
		end := rows
		if rank < size {
			end += share(have[rank], goal-before, d.bytes[rank])
		}
		counts[r], given = end-given, end
	}
	return counts
}

// share is n·part/whole.
func share(n, part, whole int64) int64 {
	if whole == 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(n), uint64(part))
	q, _ := bits.Div64(high, low, uint64(whole))
	return int64(q)
}

// contiguous moves rows so that rank r has counts[r], in the order that they are in.
func (o *op) contiguous(d *Table, counts []int64) (*Table, error) {
	if d.by.Scheme != Replicated && slices.Equal(counts, d.counts) {
		return o.finish(d.part, d.by)
	}
	by := Partitioning{}
	if d.by.Scheme == Ranged {
		by = d.by
		by.Bounds = nil // the ranges end elsewhere
	}
	part := o.once(d)
	defer part.Release()
	all := make(pieces, len(counts))
	defer func() { all.release() }()
	o.do(func() (err error) {
		first, end := d.before(), d.before()+part.NumRows()
		from := int64(0)
		for r, n := range counts {
			if lo, hi := max(from, first), min(from+n, end); lo < hi {
				if all[r], err = batches(part, lo-first, hi-first); err != nil {
					return err
				}
			}
			from += n
		}
		return nil
	})
	got := o.deal(d.Schema(), all)
	defer got.Release()
	return o.finish(got, by)
}

// Gather gives the root the rows of all ranks, by rank, and the other ranks nil.
//
// Order: kept.
func (d *Table) Gather(ctx context.Context, root int) (*table.Table, error) {
	o := d.start(ctx, "Gather", fmt.Sprintf("root %d", root))
	o.checkRoot(root)
	if o.meet() != nil {
		return nil, o.ended
	}
	if d.by.Scheme == Replicated {
		if o.comm.Rank() == root {
			return d.part.Retain(), nil
		}
		return nil, nil
	}
	lists := make([][]*table.Batch, o.comm.Size())
	lists[root] = d.part.Chunks()
	got := o.deal(d.Schema(), lists)
	if o.meet() != nil || o.comm.Rank() != root {
		got.Release()
		return nil, o.ended
	}
	return got, nil
}

func (o *op) checkRoot(root int) {
	if root < 0 || root >= o.comm.Size() {
		o.fail(fmt.Errorf("%w: root %d is not one of %d ranks", device.ErrMismatch, root, o.comm.Size()))
	}
}

// Replicate gives every rank the rows of all: NumRows is still their number, and Local is all of
// them. Other operations take each row once.
//
// Order: kept.
func (d *Table) Replicate(ctx context.Context) (*Table, error) {
	o := d.start(ctx, "Replicate", "")
	if o.meet() != nil {
		return nil, o.ended
	}
	if d.by.Scheme == Replicated {
		return o.finish(d.part, d.by)
	}
	got := o.everywhere(d.Schema(), d.part.Retain())
	defer got.Release()
	return o.finish(got, Partitioning{Scheme: Replicated})
}
