package distributed

import (
	"context"

	"github.com/volley-go/volley/table"
)

// Even gives every rank the same number of rows: a Rebalance without the last rows, fewer than
// there are ranks, that do not go round. A data loader over each rank's Local part, as the only one
// of its source (Rank 0, Size 1), then takes as many steps as those of all other ranks, without a
// file between.
//
// Order: kept.
func (d *Table) Even(ctx context.Context) (*Table, error) {
	o := d.start(ctx, "Even", "")
	n, size := d.NumRows(), int64(len(d.counts))
	each := n / size
	part := o.once(d)
	defer part.Release()
	head := o.table(func() (*table.Table, error) {
		return sliced(part, 0, min(part.NumRows(), max(0, each*size-d.before())))
	})
	defer head.Release()
	whole, err := o.finish(head, Partitioning{})
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	counts := make([]int64, size)
	for r := range counts {
		counts[r] = each
	}
	return o.contiguous(whole, counts)
}
