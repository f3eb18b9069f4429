package distributed

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// Scatter spreads the root's table over the ranks of a Comm, which all call it: every rank gets as many
// rows, to within one, on its backend b. The other ranks give no table.
//
// Order: kept.
func Scatter(ctx context.Context, comm *collective.Comm, b *kernels.Backend, t *table.Table, root int) (*Table, error) {
	o, schema, err := fromRoot(ctx, comm, "Scatter", b, t, root)
	if err != nil {
		return nil, err
	}
	got := o.share(t, schema, root)
	defer got.Release()
	return o.finish(got, Partitioning{})
}

// Broadcast gives every rank of a Comm, which all call it, the root's table on its backend b: a
// replicated Table. The other ranks give no table.
//
// Order: kept.
func Broadcast(ctx context.Context, comm *collective.Comm, b *kernels.Backend, t *table.Table, root int) (*Table, error) {
	o, schema, err := fromRoot(ctx, comm, "Broadcast", b, t, root)
	if err != nil {
		return nil, err
	}
	share := o.share(t, schema, root) // the root then sends no more than each of the others does
	got := o.everywhere(schema, share)
	defer got.Release()
	return o.finish(got, Partitioning{Scheme: Replicated})
}

// fromRoot begins an operation on a table that only the root has, and gives its schema.
func fromRoot(ctx context.Context, comm *collective.Comm, name string, b *kernels.Backend, t *table.Table, root int) (*op, *arrow.Schema, error) {
	if comm == nil {
		return nil, nil, fmt.Errorf("%w: %s without a Comm", device.ErrMismatch, name)
	}
	o := start(ctx, comm, name, fmt.Sprintf("root %d", root))
	o.backend = b
	o.checkRoot(root)
	own, rows := arrow.NewSchema(nil, nil), int64(0)
	switch {
	case b == nil:
		o.fail(fmt.Errorf("%w: no backend given", device.ErrMismatch))
	case comm.Rank() == root && t == nil:
		o.fail(fmt.Errorf("%w: the root gives no table", device.ErrMismatch))
	case comm.Rank() != root && t != nil:
		o.fail(fmt.Errorf("%w: it gives a table, and is not the root, rank %d", device.ErrMismatch, root))
	case t != nil && t.Backend() != b:
		o.fail(fmt.Errorf("%w: the table is on %s, not on %s", device.ErrMismatch, t.Backend().Device.Name(), b.Device.Name()))
	case t != nil:
		own, rows = t.Schema(), t.NumRows()
	}
	schema, _, _ := o.schema(own, rows)
	return o, schema, o.ended
}

// share gives every rank its share of the root's table.
func (o *op) share(t *table.Table, schema *arrow.Schema, root int) *table.Table {
	all := make(pieces, o.comm.Size())
	defer func() { all.release() }()
	o.do(func() (err error) {
		if o.comm.Rank() != root {
			return nil
		}
		n, size := t.NumRows(), int64(len(all))
		for r := range size {
			if all[r], err = batches(t, n*r/size, n*(r+1)/size); err != nil {
				return err
			}
		}
		return nil
	})
	return o.deal(schema, all)
}
