package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// referenceJoin puts the reference loops of join kernels into s.
func referenceJoin(s *Set) {
	s.JoinBuild = Entry[JoinBuildFunc]{referenceJoinBuild, KeyTypes}
	s.Cross = Entry[CrossFunc]{Func: referenceCross}
}

// referenceTable lists the right rows of each key.
type referenceTable struct {
	rows  map[string][]int64
	keys  []*memory.Column
	nulls bool // null matches null
}

func referenceJoinBuild(ctx context.Context, _ device.Stream, keys []*memory.Column, o JoinOptions) (JoinTable, error) {
	t := &referenceTable{rows: map[string][]int64{}, nulls: o.NullsEqual}
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

func (t *referenceTable) Rows() int64 { return t.keys[0].Len() }

func (t *referenceTable) Release() {
	for _, k := range t.keys {
		k.Release()
	}
}

func (t *referenceTable) Probe(ctx context.Context, s device.Stream, keys []*memory.Column, kind JoinKind, o JoinOptions) (*Pairs, error) {
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
		case kind == SemiJoin || kind == AntiJoin:
			if (len(matches) > 0) == (kind == SemiJoin) {
				left = append(left, i)
			}
			continue
		case len(matches) == 0 && (kind == LeftJoin || kind == FullJoin):
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
	if kind == RightJoin || kind == FullJoin {
		for r, done := range met {
			if !done {
				left, right = append(left, -1), append(right, int64(r))
			}
		}
	}
	if err := o.Check(int64(len(left))); err != nil {
		return nil, err
	}
	if kind == SemiJoin || kind == AntiJoin {
		l, err := indexColumn(s, keys[0].Len(), left)
		if err != nil {
			return nil, err
		}
		return &Pairs{Left: l}, nil
	}
	return indexPairs(s, keys[0].Len(), left, t.Rows(), right)
}

func indexPairs(s device.Stream, n int64, left []int64, m int64, right []int64) (*Pairs, error) {
	l, err := indexColumn(s, n, left)
	if err != nil {
		return nil, err
	}
	r, err := indexColumn(s, m, right)
	if err != nil {
		l.Release()
		return nil, err
	}
	return &Pairs{Left: l, Right: r}, nil
}

func referenceCross(ctx context.Context, s device.Stream, leftFrom, left, right int64) (*Pairs, error) {
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
