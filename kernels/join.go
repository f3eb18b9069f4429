package kernels

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
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
	// MaxPairs, if not 0, bounds the pairs of one Probe: more are a PairsError,
	// told before memory is taken for any. See JoinColumns for those of one.
	MaxPairs int64
	// Distinct says that most likely no right key comes twice, by which JoinColumns may
	// choose its way. The rows are the same if one does.
	Distinct bool
}

// PairsError is a Probe of more pairs than JoinOptions.MaxPairs allows. It is a
// device.ErrOutOfMemory.
type PairsError struct{ Pairs, Max int64 }

// Error says how many pairs there would be.
func (e *PairsError) Error() string {
	return fmt.Sprintf("%v: %d pairs where %d are allowed", device.ErrOutOfMemory, e.Pairs, e.Max)
}

// Unwrap gives the kind of the error.
func (e *PairsError) Unwrap() error { return device.ErrOutOfMemory }

// Check is a PairsError where pairs are more than the options allow.
func (o JoinOptions) Check(pairs int64) error {
	if o.MaxPairs > 0 && pairs > o.MaxPairs {
		return &PairsError{Pairs: pairs, Max: o.MaxPairs}
	}
	return nil
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

// UniqueTable is a JoinTable that may know that no key came twice.
type UniqueTable interface {
	JoinTable
	// Unique says that no key came twice; false is also that it is not known.
	Unique() bool
}

// JoinBuildFunc builds the right side of a join from its keys, one or more.
// The table keeps references to the columns.
type JoinBuildFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, o JoinOptions) (JoinTable, error)

// CrossFunc pairs each of the left rows [leftFrom, leftFrom+left) with each of
// right rows, in left order and then right order.
type CrossFunc func(ctx context.Context, s device.Stream, leftFrom, left, right int64) (*Pairs, error)

// JoinBuild builds the right side of a join from its keys, one or more columns of
// one length. The table that it returns is probed with as many left keys of the
// same types (ErrMismatch), and after Release it answers ErrClosed.
func (b *Backend) JoinBuild(ctx context.Context, s device.Stream, keys []*memory.Column, o JoinOptions) (t JoinTable, err error) {
	const call = "join_build"
	defer b.guard(call, &err)
	if err := b.checkKeys(ctx, s, call, b.Set.JoinBuild.Func != nil, b.Set.JoinBuild.Types, keys); err != nil {
		return nil, err
	}
	table, err := b.Set.JoinBuild.Func(ctx, s, keys, o)
	if err != nil {
		return nil, err
	}
	return &checkedTable{backend: b, table: table, types: typesOf(keys)}, nil
}

func typesOf(columns []*memory.Column) []arrow.DataType {
	types := make([]arrow.DataType, len(columns))
	for i, c := range columns {
		types[i] = c.Type()
	}
	return types
}

// sameKeys checks that keys of the left side are of the right one's types.
func (b *Backend) sameKeys(call string, keys []*memory.Column, types []arrow.DataType) error {
	if len(keys) != len(types) {
		return b.fail(device.ErrMismatch, call, "%d keys against a table of %d", len(keys), len(types))
	}
	for i, k := range keys {
		if !arrow.TypeEqual(k.Type(), types[i]) {
			return b.fail(device.ErrMismatch, call, "key %d is %s on the left and %s on the right", i, k.Type(), types[i])
		}
	}
	return nil
}

// checkedTable stands between callers and a backend's table.
type checkedTable struct {
	backend *Backend
	table   JoinTable
	types   []arrow.DataType
	closed  atomic.Bool
}

func (t *checkedTable) Rows() int64 { return t.table.Rows() }

func (t *checkedTable) Unique() bool {
	u, ok := t.table.(UniqueTable)
	return ok && u.Unique()
}

func (t *checkedTable) Release() {
	if !t.closed.Swap(true) {
		t.table.Release()
	}
}

func (t *checkedTable) Probe(ctx context.Context, s device.Stream, keys []*memory.Column, kind JoinKind, o JoinOptions) (p *Pairs, err error) {
	const call = "join_probe"
	b := t.backend
	defer b.guard(call, &err)
	if t.closed.Load() {
		return nil, b.fail(device.ErrClosed, call, "the table was released")
	}
	if kind < InnerJoin || kind > AntiJoin {
		return nil, b.fail(device.ErrUnsupported, call, "there is no join kind %d", int(kind))
	}
	if err := b.checkKeys(ctx, s, call, true, b.Set.JoinBuild.Types, keys); err != nil {
		return nil, err
	}
	if err := b.sameKeys(call, keys, t.types); err != nil {
		return nil, err
	}
	return t.table.Probe(ctx, s, keys, kind, o)
}

// Cross pairs each of the left rows [leftFrom, leftFrom+left) with each of right
// rows, in left order and then right order. Numbers below 0 are an ErrMismatch,
// more pairs than memory can number an ErrOutOfMemory.
func (b *Backend) Cross(ctx context.Context, s device.Stream, leftFrom, left, right int64) (p *Pairs, err error) {
	const call = "cross"
	defer b.guard(call, &err)
	if err := b.admit(ctx, s, call, b.Set.Cross.Func != nil, b.Set.Cross.Types); err != nil {
		return nil, err
	}
	if leftFrom < 0 || left < 0 || right < 0 || leftFrom > math.MaxInt64-left {
		return nil, b.fail(device.ErrMismatch, call, "rows [%d, %d+%d) by %d rows", leftFrom, leftFrom, left, right)
	}
	if right > 0 && left > math.MaxInt64/8/right {
		return nil, b.fail(device.ErrOutOfMemory, call, "%d by %d rows are more than can be numbered", left, right)
	}
	return b.Set.Cross.Func(ctx, s, leftFrom, left, right)
}

var joinKindNames = [...]string{"inner", "left", "right", "full", "semi", "anti"}

// String is the name of the kind.
func (k JoinKind) String() string {
	if k < 0 || int(k) >= len(joinKindNames) {
		return fmt.Sprintf("join kind %d", int(k))
	}
	return joinKindNames[k]
}
