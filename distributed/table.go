package distributed

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// Table is a table whose rows are on the ranks of a Comm: this rank's part, and what all
// ranks know of the parts. It is immutable, and counted by Retain and Release. Methods that
// take a context are collective calls; the others tell what is known here.
type Table struct {
	part   *table.Table
	comm   *collective.Comm
	by     Partitioning
	counts []int64 // rows, by rank
	bytes  []int64 // about, by rank
	refs   atomic.Int64
}

// New makes a table of every rank's part, to which it adds a reference. All ranks of the
// Comm call it, with parts of the same columns. The Comm stays the caller's. The rows are those
// of rank 0, then of rank 1, and so on.
func New(ctx context.Context, comm *collective.Comm, part *table.Table) (*Table, error) {
	if comm == nil {
		return nil, fmt.Errorf("%w: a distributed table without a Comm", device.ErrMismatch)
	}
	o := start(ctx, comm, "New", "")
	if part == nil {
		o.fail(fmt.Errorf("%w: no table given", device.ErrMismatch))
	}
	return o.finish(part, Partitioning{})
}

// Local is this rank's part. The caller gets no reference.
func (d *Table) Local() *table.Table { return d.part }

// Comm is where the ranks meet.
func (d *Table) Comm() *collective.Comm { return d.comm }

// Schema names and types the columns, the same on all ranks.
func (d *Table) Schema() *arrow.Schema { return d.part.Schema() }

// NumRows is the number of rows of all ranks. Of a replicated table it is that of one.
func (d *Table) NumRows() int64 {
	if d.by.Scheme == Replicated {
		return d.counts[0]
	}
	return sum(d.counts)
}

// NumColumns is the number of columns.
func (d *Table) NumColumns() int { return d.part.NumColumns() }

// Counts are the numbers of rows of the ranks.
func (d *Table) Counts() []int64 { return slices.Clone(d.counts) }

// Partitioning is what is known of which rank has which rows.
func (d *Table) Partitioning() Partitioning { return d.by }

// Retain adds a reference and returns d. On nil it does nothing.
func (d *Table) Retain() *Table {
	if d != nil {
		d.refs.Add(1)
	}
	return d
}

// Release drops a reference, and with the last one that to the part. On nil it does nothing.
func (d *Table) Release() {
	if d != nil && d.refs.Add(-1) == 0 {
		d.part.Release()
	}
}

func sum(list []int64) (n int64) {
	for _, x := range list {
		n += x
	}
	return n
}
