package distributed

import (
	"context"
	"fmt"
	"strings"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// Sort orders the rows of all ranks, as table.Query.Sort does: rank r has rows that come before
// those of rank r+1, and rows of equal keys keep the order that they had over all ranks.
// Each rank has as many rows as the others, within 10 percent, whatever the keys are: a key is cut
// where it has more rows than one rank's share.
func (d *Table) Sort(ctx context.Context, keys ...table.Order) (*Table, error) {
	o := d.start(ctx, "Sort", "by "+ordersText(keys))
	o.do(func() error { return checkOrders(ctx, d.part, keys) })
	if o.meet() != nil {
		return nil, o.ended
	}
	return o.sort(d, keys)
}

func ordersText(keys []table.Order) string {
	var all []string
	for _, k := range keys {
		all = append(all, k.String())
	}
	return strings.Join(all, ", ")
}

// checkOrders finds what is wrong with keys, in the local operator's words.
func checkOrders(ctx context.Context, part *table.Table, keys []table.Order) error {
	_, err := part.Query().Sort(keys...).Explain(ctx)
	return err
}

// sort is the Sort of an operation.
func (o *op) sort(d *Table, keys []table.Order) (*Table, error) {
	if d.by.Scheme == Replicated {
		sorted := o.table(func() (*table.Table, error) { return d.part.Query().Sort(keys...).Collect(o.ctx) })
		defer sorted.Release()
		return o.finish(sorted, d.by)
	}
	spread, err := o.byRange(d, keys)
	if err != nil {
		return nil, err
	}
	defer spread.Release()
	if o.comm.Size() == 1 {
		return spread.Retain(), nil
	}
	sorted := o.table(func() (*table.Table, error) { return spread.part.Query().Sort(keys...).Collect(o.ctx) })
	defer sorted.Release()
	return o.finish(sorted, spread.by)
}

// TopK is the first k rows of Sort, in order. Rank 0 has them: of each rank's first k rows a tree of
// ranks keeps the first k, so k rows move in each of log₂(ranks) rounds. k above what a rank
// has on average is a Sort and Head, which leaves the rows on several ranks.
func (d *Table) TopK(ctx context.Context, k int64, keys ...table.Order) (*Table, error) {
	o := d.start(ctx, "TopK", fmt.Sprintf("%d by %s", k, ordersText(keys)))
	o.do(func() error {
		if k < 0 {
			return fmt.Errorf("%w: %d rows", device.ErrMismatch, k)
		}
		return checkOrders(ctx, d.part, keys)
	})
	if o.meet() != nil {
		return nil, o.ended
	}
	first := func(t *table.Table) (*table.Table, error) { return t.Query().TopK(k, keys...).Collect(ctx) }
	if d.by.Scheme == Replicated {
		top := o.table(func() (*table.Table, error) { return first(d.part) })
		defer top.Release()
		return o.finish(top, d.by)
	}
	if k > d.NumRows()/int64(len(d.counts)) && len(d.counts) > 1 {
		sorted, err := o.sort(d, keys)
		if err != nil {
			return nil, err
		}
		defer sorted.Release()
		head := o.table(func() (*table.Table, error) {
			return sliced(sorted.part, 0, min(max(0, k-sorted.before()), sorted.part.NumRows()))
		})
		defer head.Release()
		return o.finish(head, sorted.by)
	}
	top := o.table(func() (*table.Table, error) { return first(d.part) })
	defer func() { top.Release() }()
	for step := 1; step < o.comm.Size(); step *= 2 {
		came := o.upward(top, step)
		next := o.table(func() (*table.Table, error) { return first(came) })
		came.Release()
		top.Release()
		top = next
	}
	return o.finish(top, Partitioning{})
}

// upward gives the rows of ranks that are an odd number of steps from 0 to the rank one step below, behind
// its own. The others get their own, with the columns that all agree on: dictionaries that were united may
// have wider indices on one of them.
func (o *op) upward(t *table.Table, step int) *table.Table {
	rank := o.comm.Rank()
	to := rank
	if rank%(2*step) == step {
		to = rank - step
	}
	parts := make([]*table.Table, o.comm.Size())
	defer func() { release(parts) }()
	o.do(func() (err error) {
		for r := range parts {
			if parts[r], err = table.NewTable(o.backend, t.Schema(), nil); err != nil {
				return err
			}
		}
		parts[to].Release()
		parts[to] = t.Retain()
		return nil
	})
	return o.exchange(parts)
}
