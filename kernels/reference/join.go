package reference

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// addJoin puts the reference loops of join kernels into s.
func addJoin(s *kernels.Set) {
	s.JoinBuild = kernels.Entry[kernels.JoinBuildFunc]{Func: joinBuild, Types: kernels.KeyTypes}
	s.Cross = kernels.Entry[kernels.CrossFunc]{Func: cross}
}

// joinTable lists the right rows of each key.
type joinTable struct {
	rows  map[string][]int64
	keys  []*memory.Column
	nulls bool // null matches null
}

func joinBuild(ctx context.Context, _ device.Stream, keys []*memory.Column, o kernels.JoinOptions) (kernels.JoinTable, error) {
	t := &joinTable{rows: map[string][]int64{}, nulls: o.NullsEqual}
	var buf []byte
	for i := range keys[0].Len() {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return nil, device.Canceled(ctx, "", "")
		}
		text, null := keyText(buf, keys, i)
		if buf = text; t.nulls || !null {
			t.rows[string(text)] = append(t.rows[string(text)], i)
		}
	}
	for _, k := range keys {
		t.keys = append(t.keys, k.Retain())
	}
	return t, nil
}

func (t *joinTable) Rows() int64 { return t.keys[0].Len() }

func (t *joinTable) Release() {
	for _, k := range t.keys {
		k.Release()
	}
}

func (t *joinTable) Probe(ctx context.Context, s device.Stream, keys []*memory.Column, kind kernels.JoinKind, o kernels.JoinOptions) (*kernels.Pairs, error) {
	var left, right []int64
	met := make([]bool, t.Rows())
	var buf []byte
	for i := range keys[0].Len() {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return nil, device.Canceled(ctx, "", "")
		}
		text, null := keyText(buf, keys, i)
		buf = text
		var matches []int64
		if t.nulls || !null {
			matches = t.rows[string(text)]
		}
		switch {
		case kind == kernels.SemiJoin || kind == kernels.AntiJoin:
			if (len(matches) > 0) == (kind == kernels.SemiJoin) {
				left = append(left, i)
			}
			continue
		case len(matches) == 0 && (kind == kernels.LeftJoin || kind == kernels.FullJoin):
			left, right = append(left, i), append(right, -1)
		}
		if err := o.Check(int64(len(left) + len(matches))); err != nil {
			return nil, err
		}
		for _, r := range matches {
			left, right = append(left, i), append(right, r)
			met[r] = true
		}
	}
	if kind == kernels.RightJoin || kind == kernels.FullJoin {
		for r, done := range met {
			if !done {
				left, right = append(left, -1), append(right, int64(r))
			}
		}
	}
	if err := o.Check(int64(len(left))); err != nil {
		return nil, err
	}
	if kind == kernels.SemiJoin || kind == kernels.AntiJoin {
		l, err := indexColumn(s, keys[0].Len(), left)
		if err != nil {
			return nil, err
		}
		return &kernels.Pairs{Left: l}, nil
	}
	return indexPairs(s, keys[0].Len(), left, t.Rows(), right)
}

func indexPairs(s device.Stream, n int64, left []int64, m int64, right []int64) (*kernels.Pairs, error) {
	l, err := indexColumn(s, n, left)
	if err != nil {
		return nil, err
	}
	r, err := indexColumn(s, m, right)
	if err != nil {
		l.Release()
		return nil, err
	}
	return &kernels.Pairs{Left: l, Right: r}, nil
}

func cross(ctx context.Context, s device.Stream, leftFrom, left, right int64) (*kernels.Pairs, error) {
	var l, r []int64
	for i := range left {
		if ctx.Err() != nil {
			return nil, device.Canceled(ctx, "", "")
		}
		for j := range right {
			l, r = append(l, leftFrom+i), append(r, j)
		}
	}
	return indexPairs(s, leftFrom+left, l, right, r)
}
