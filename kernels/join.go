package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// JoinKind is which rows a join keeps.
type JoinKind int

// The join kinds. The left side probes, the right side was built.
const (
	InnerJoin JoinKind = iota
	LeftJoin           // and left rows without a match, with a null right row
	RightJoin          // and right rows without a match, with a null left row
	FullJoin           // both
	SemiJoin           // left rows with a match, once each; no right column
	AntiJoin           // left rows without a match; no right column
)

// JoinOptions tune a join.
type JoinOptions struct {
	// NullsEqual lets null match null; without it a null matches nothing.
	// It is read when building.
	NullsEqual bool
	// AnyOrder allows the pairs in any order. It is read when probing.
	AnyOrder bool
}

// Pairs are the rows that a join puts together.
type Pairs struct {
	// Left and Right are row numbers (IndexType of each side) of one length,
	// null where that side has no row. Right is nil for semi and anti joins.
	Left, Right *memory.Column
}

// Release drops the references to the columns.
func (p *Pairs) Release() {
	if p != nil {
		p.Left.Release()
		p.Right.Release()
	}
}

// JoinTable is the built side of a join, to be probed any number of times and
// from several goroutines.
type JoinTable interface {
	// Rows is the number of rows that it was built of.
	Rows() int64
	// Probe finds the matches of each row of keys, of the types it was built
	// with. Pairs come in left order and then right order; right rows without a
	// match (RightJoin, FullJoin) come after all others, in order. NaNs are
	// equal, -0 equals 0.
	Probe(ctx context.Context, s device.Stream, keys []*memory.Column, kind JoinKind, o JoinOptions) (*Pairs, error)
	// Release gives the table back.
	Release()
}

// JoinBuildFunc builds the right side of a join from its keys, one or more.
// The table keeps references to the columns.
type JoinBuildFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, o JoinOptions) (JoinTable, error)

// CrossFunc pairs each of the left rows [leftFrom, leftFrom+left) with each of
// right rows, in left order and then right order.
type CrossFunc func(ctx context.Context, s device.Stream, leftFrom, left, right int64) (*Pairs, error)
