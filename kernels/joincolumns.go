package kernels

import (
	"context"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// JoinSide is one side of JoinColumns: its keys, and the columns of which joined
// rows have the values. A key may be among the columns.
type JoinSide struct{ Keys, Columns []*memory.Column }

// JoinRows gives the rows of a join, some at a time. It is used by one goroutine.
type JoinRows interface {
	// Next is the columns of the next rows, those of the left side and then those
	// of the right one, at least one row, or io.EOF. It may work on about so many
	// left rows at once, 1 at least: memory for what they give is taken together.
	// After a device.ErrOutOfMemory it may be called again, with fewer.
	Next(ctx context.Context, rows int64) ([]*memory.Column, error)
	// Release gives back what is held.
	Release()
}

// JoinColumnsFunc joins two sides whose keys are one column each, of
// JoinColumnsKeys, in which nulls match nothing.
type JoinColumnsFunc func(ctx context.Context, s device.Stream, left, right JoinSide, o JoinOptions) (JoinRows, error)

// JoinColumnsKeys are the types of the key that the JoinColumnsFunc of a CPU takes.
var JoinColumnsKeys = TypesOf(arrow.INT32, arrow.UINT32, arrow.DATE32, arrow.TIME32, arrow.INT64, arrow.UINT64,
	arrow.TIMESTAMP, arrow.DATE64, arrow.TIME64, arrow.DURATION)

// JoinsColumns says that the set joins sides of such keys as they are: with what
// joined rows have of them, instead of by row numbers.
func (s *Set) JoinsColumns(keys []*memory.Column, nullsEqual bool) bool {
	return s.JoinColumns.Func != nil && len(keys) == 1 && s.JoinColumns.Types.Has(keys[0].Type().ID()) && !nullsEqual
}

// JoinColumns is the inner join of two sides as columns, in left order and then right
// order, or with o.AnyOrder in any, which is the same each time. It equals JoinBuild of
// the right keys, Probe with the left ones, and Take of each column. In left order all
// pairs are found before the first is given, so that more than o.MaxPairs, if that is
// not 0, are a PairsError of this call: how many there would be is not known then. One
// whose pairs crowd on few left rows may be, too. Keys are as in JoinBuild, and
// columns have as many rows as their side's keys (ErrMismatch). Where the set has
// not got it for the keys, it is those three, and all rows come at once.
func (b *Backend) JoinColumns(ctx context.Context, s device.Stream, left, right JoinSide, o JoinOptions) (rows JoinRows, err error) {
	const call = "join_columns"
	defer b.guard(call, &err)
	for _, side := range []JoinSide{left, right} {
		if err := b.checkKeys(ctx, s, call, b.Set.JoinBuild.Func != nil, b.Set.JoinBuild.Types, side.Keys); err != nil {
			return nil, err
		}
		if err := b.admit(ctx, s, call, true, b.Set.Take.Types, side.Columns...); err != nil {
			return nil, err
		}
		if err := b.sameLength(call, append(slices.Clone(side.Keys), side.Columns...)...); err != nil {
			return nil, err
		}
	}
	if err := b.sameKeys(call, left.Keys, typesOf(right.Keys)); err != nil {
		return nil, err
	}
	if len(left.Columns)+len(right.Columns) == 0 {
		return nil, b.fail(device.ErrMismatch, call, "no columns to give")
	}
	if b.Set.JoinsColumns(left.Keys, o.NullsEqual) {
		return b.Set.JoinColumns.Func(ctx, s, left, right, o)
	}
	table, err := b.JoinBuild(ctx, s, right.Keys, o)
	if err != nil {
		return nil, err
	}
	defer table.Release()
	pairs, err := table.Probe(ctx, s, left.Keys, InnerJoin, o)
	if err != nil {
		return nil, err
	}
	defer pairs.Release()
	all := &takenRows{}
	for _, side := range []struct {
		columns []*memory.Column
		rows    *memory.Column
	}{{left.Columns, pairs.Left}, {right.Columns, pairs.Right}} {
		for _, c := range side.columns {
			taken, err := b.Take(ctx, s, c, side.rows, TakeOptions{Trusted: true})
			if err != nil {
				all.Release()
				return nil, err
			}
			all.columns = append(all.columns, taken)
		}
	}
	if pairs.Left.Len() == 0 {
		all.Release()
	}
	return all, nil
}

// takenRows are rows that are all there.
type takenRows struct{ columns []*memory.Column }

func (t *takenRows) Next(context.Context, int64) ([]*memory.Column, error) {
	if t.columns == nil {
		return nil, io.EOF
	}
	all := t.columns
	t.columns = nil
	return all, nil
}

func (t *takenRows) Release() {
	for _, c := range t.columns {
		c.Release()
	}
	t.columns = nil
}
