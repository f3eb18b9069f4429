package cpu

import (
	"context"
	"slices"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// joinTable is the built side of a join.
type joinTable struct {
	a     *arena // of the index
	cols  []*memory.Column
	index *joinIndex
}

// joinBuild builds the right side of a join.
func (l *loops) joinBuild(ctx context.Context, s device.Stream, keys []*memory.Column, o kernels.JoinOptions) (kernels.JoinTable, error) {
	a := newArena(s)
	index, err := newJoinIndex(ctx, a, keys, o.NullsEqual)
	if err == nil {
		index.l = l
		err = index.shorten(ctx, a, l)
	}
	if err != nil {
		a.free()
		return nil, err
	}
	t := &joinTable{a: a, index: index, cols: slices.Clone(keys)}
	for _, c := range t.cols {
		c.Retain()
	}
	return t, nil
}

func (t *joinTable) Rows() int64 { return t.index.length }

func (t *joinTable) Unique() bool { return t.index.unique }

func (t *joinTable) Release() {
	t.a.free()
	for _, c := range t.cols {
		c.Release()
	}
	t.cols = nil
}

// Probe goes over the left rows twice: to count what each morsel gives, and
// then to write it where it belongs. Beside the result there is a bit for each
// row, and of up to keptRows what each found; of more it is looked up again.
func (t *joinTable) Probe(ctx context.Context, s device.Stream, keys []*memory.Column, kind kernels.JoinKind, o kernels.JoinOptions) (*kernels.Pairs, error) {
	n := keys[0].Len()
	if err := tooLong(n); err != nil {
		return nil, err
	}
	a := newArena(s)
	defer a.free()
	finder, err := t.index.bind(ctx, a, keys)
	if err != nil {
		return nil, err
	}
	p := &probe{
		joinFinder: finder, ctx: ctx, a: a, kind: kind, n: n, counts: make([]int64, morsels(n)),
		outer: kind == kernels.LeftJoin || kind == kernels.FullJoin,
		keep:  kind == kernels.RightJoin || kind == kernels.FullJoin,
		pairs: kind != kernels.SemiJoin && kind != kernels.AntiJoin,
	}
	if err := p.count(); err != nil {
		return nil, err
	}
	if err := o.Check(p.total + p.rest); err != nil {
		return nil, err
	}
	if err := p.write(); err != nil {
		return nil, err
	}
	return p.result()
}
