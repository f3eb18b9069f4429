package table

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Joins in any order of two sides of which neither is small are done on whole
// columns where the backend has a kernel for it (kernels.JoinColumns).
const (
	// wholeLeast is how many right rows there must be: a table of fewer stays in
	// the caches, and rows find their partners there faster than they are moved.
	wholeLeast = 1 << 18
	// wholeClose is how many there must be where keys are close to each other: an
	// array over their range of fewer stays in the caches.
	wholeClose = 1 << 22
	// wholeMost is how many times the right rows, which are held anyway, may be
	// held of left rows.
	wholeMost = 4
	// wholeRows is about how many left rows are joined at once.
	wholeRows = 16 * probeRows
)

// startWhole begins such a join. It is not done where sides are not of the kind,
// or memory is short; left rows that were asked for are in held then.
func (o *joinOp) startWhole(ctx context.Context) (done bool, err error) {
	n, set := o.node, o.r.backend.Set
	if n.kind != Inner || !n.anyOrder || len(n.outputs) == 0 || o.build.rows < wholeLeast || !set.JoinsColumns(o.keys, n.nullsEqual) {
		return false, nil
	}
	if o.build.rows < wholeClose && closeKeys(o.keys[0]) {
		return false, nil
	}
	leftKey, plain := o.leftKeys.ColumnOf(0)
	rightKey, also := o.rightKeys.ColumnOf(0)
	if !plain || !also {
		return false, nil
	}
	for rows := int64(0); ; {
		b, err := o.left.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, err
		}
		o.held = append(o.held, b)
		if rows += b.rows; rows/wholeMost > o.build.rows {
			return false, nil
		}
	}
	var again []*Batch
	for _, b := range o.held {
		again = append(again, b.Retain())
	}
	whole, err := o.r.concat(ctx, n.left.schema(), again)
	if err == nil {
		left := kernels.JoinSide{Keys: []*memory.Column{whole.columns[leftKey]}}
		right := kernels.JoinSide{Keys: []*memory.Column{o.build.columns[rightKey]}}
		for _, out := range n.outputs {
			if out.left != "" {
				left.Columns = append(left.Columns, whole.ColumnNamed(out.left))
			} else {
				right.Columns = append(right.Columns, o.build.ColumnNamed(out.right))
			}
		}
		o.whole, err = o.r.backend.JoinColumns(ctx, o.r.stream, left, right, kernels.JoinOptions{AnyOrder: true})
		whole.Release()
	}
	if errors.Is(err, device.ErrOutOfMemory) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	o.releaseHeld()
	return true, nil
}

// closeKeys guesses, by a sample, whether the range of whole numbers is no more
// than twice as large as there are rows.
func closeKeys(c *memory.Column) bool {
	const sample = 512
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range int64(sample) {
		if v := kernels.ScalarAt(c, i*(c.Len()-1)/(sample-1)); v.Valid() {
			least, greatest = min(least, v.Int64()), max(greatest, v.Int64())
		}
	}
	return least > greatest || uint64(greatest)-uint64(least) <= 2*uint64(c.Len())
}

func (o *joinOp) releaseHeld() {
	for _, b := range o.held {
		b.Release()
	}
	o.held = nil
}

// nextWhole is the next rows of such a join.
func (o *joinOp) nextWhole(ctx context.Context) (*Batch, error) {
	rows := int64(wholeRows)
	given, err := o.whole.Next(ctx, rows)
	for errors.Is(err, device.ErrOutOfMemory) && rows > 1 {
		rows /= 4
		given, err = o.whole.Next(ctx, rows)
	}
	if err == io.EOF {
		return nil, err
	}
	if err != nil {
		return nil, wrapError("join", err)
	}
	lefts := 0
	for _, out := range o.node.outputs {
		if out.left != "" {
			lefts++
		}
	}
	var columns []*memory.Column
	l, r := given[:lefts], given[lefts:]
	for _, out := range o.node.outputs {
		if out.left != "" {
			columns, l = append(columns, l[0]), l[1:]
		} else {
			columns, r = append(columns, r[0]), r[1:]
		}
	}
	return NewBatch(o.node.out, columns[0].Len(), columns)
}
