package cpu

import (
	"context"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// group numbers the distinct keys among rows.
func (l *loops) group(ctx context.Context, s device.Stream, keys []*memory.Column, o kernels.GroupOptions) (*kernels.Groups, error) {
	a := newArena(s)
	defer a.free()
	g, err := newGrouping(ctx, a, l, keys, o.DropNullKeys)
	if err != nil {
		return nil, err
	}
	ids, firsts, err := g.numbers()
	if err != nil {
		return nil, err
	}
	valid, nulls, err := g.validity(ids.s)
	if err != nil {
		return nil, err
	}
	out := &kernels.Groups{N: int64(len(firsts.s))}
	if out.IDs, err = indexColumn(a, ids, valid, nulls); err != nil {
		return nil, err
	}
	if out.First, err = indexColumn(a, firsts, nil, 0); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// dropped is the group number of rows that belong to none.
const dropped = ^uint32(0)

// numbers gives the group of each row, dropped for none, and the first rows.
func (g *grouping) numbers() (ids, firsts vec[uint32], err error) {
	table, err := g.few()
	if err != nil {
		return
	}
	if ids, err = newVec[uint32](g.a, int(g.n)); err != nil {
		return
	}
	if table != nil {
		err = g.lookUp(table, ids.s)
		return ids, table.firsts, err
	}
	m, err := g.newMany(8)
	if err != nil {
		return
	}
	if g.ks.drop {
		for i := range ids.s {
			ids.s[i] = dropped
		}
	}
	r, err := m.findFirsts(ids.s)
	if err != nil {
		return
	}
	m.free()
	err = parallel(g.ctx, g.n, func(_ int, s span) error {
		for i, first := range ids.s[s.from:s.to] {
			if first != dropped {
				ids.s[s.from+int64(i)] = r.of(first)
			}
		}
		return nil
	})
	if err == nil {
		firsts, err = r.rows(g.ctx, g.a)
	}
	r.free(g.a)
	return
}

// lookUp finds the group of each row in a table of all.
func (g *grouping) lookUp(table *grouper, ids []uint32) error {
	all := batchStash{}
	return parallel(g.ctx, g.n, func(_ int, s span) error {
		b, _ := all.get()
		defer all.put(b)
		return batches(b, s.from, s.to, func() error {
			from, n := b.from, b.n
			if !g.ks.fill(b) {
				err := table.insert(b)
				copy(ids[from:], b.ids[:n])
				return err
			}
			for j := range n {
				ids[from+uint32(j)] = dropped
			}
			b.compact()
			err := table.insert(b)
			for j, row := range b.rows {
				ids[row] = b.ids[j]
			}
			return err
		})
	})
}

// validity is the bitmap of rows that have a group, nil when all have one.
func (g *grouping) validity(ids []uint32) (*memory.Buffer, int64, error) {
	if !g.ks.drop {
		return nil, 0, nil
	}
	b, err := memory.NewZeroed(g.a.alloc, memory.BitmapBytes(g.n))
	if err != nil {
		return nil, 0, err
	}
	var nulls atomic.Int64
	m := memory.Bitmap(b.Bytes())
	err = parallel(g.ctx, g.n, func(_ int, s span) error {
		k := int64(0)
		for i := s.from; i < s.to; i++ {
			if ids[i] == dropped {
				ids[i] = 0
				k++
			} else {
				m.Set(i)
			}
		}
		nulls.Add(k)
		return nil
	})
	if err != nil || nulls.Load() == 0 {
		b.Release()
		b = nil
	}
	return b, nulls.Load(), err
}

// firstRows gives the first row of each group and nothing else.
func (g *grouping) firstRows() (vec[uint32], error) {
	table, err := g.few()
	if err != nil {
		return vec[uint32]{}, err
	}
	if table != nil {
		return table.firsts, nil
	}
	m, err := g.newMany(4)
	if err != nil {
		return vec[uint32]{}, err
	}
	r, err := m.findFirsts(nil)
	if err != nil {
		return vec[uint32]{}, err
	}
	m.free()
	defer r.free(g.a)
	return r.rows(g.ctx, g.a)
}

// unique gives the first row of each distinct key.
func (l *loops) unique(ctx context.Context, s device.Stream, keys []*memory.Column, o kernels.GroupOptions) (*memory.Column, error) {
	a := newArena(s)
	defer a.free()
	g, err := newGrouping(ctx, a, l, keys, o.DropNullKeys)
	if err != nil {
		return nil, err
	}
	rows, err := g.firstRows()
	if err != nil {
		return nil, err
	}
	return indexColumn(a, rows, nil, 0)
}
