package cpu

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// groupBy groups and aggregates. Distinct counts need a group for every row,
// so that with one of them it is a grouping and then aggregations.
func (l *loops) groupBy(ctx context.Context, s device.Stream, keys []*memory.Column, aggs []kernels.Aggregate, o kernels.GroupOptions) (*kernels.Grouped, error) {
	for _, agg := range aggs {
		if agg.Op == kernels.CountDistinct {
			return l.groupThenAggregate(ctx, s, keys, aggs, o)
		}
	}
	a := newArena(s)
	defer a.free()
	n := keys[0].Len()
	if err := tooLong(n); err != nil {
		return nil, err
	}
	if o.Keys {
		if guess := guessedKeyspace(keys); guess != nil {
			if g, err := l.tallyGroups(ctx, a, guess, n, aggs, !o.AnyOrder); g != nil || err != nil {
				return g, err
			}
		}
	}
	ks, err := newKeyspace(ctx, a, keys, o.DropNullKeys)
	if err != nil {
		return nil, err
	}
	if o.Keys {
		if g, err := l.tallyGroups(ctx, a, ks, n, aggs, !o.AnyOrder); g != nil || err != nil {
			return g, err
		}
	}
	if !ks.exact {
		if ks, err = newGroupKeyspace(ctx, a, l, keys, o.DropNullKeys); err != nil {
			return nil, err
		}
	}
	g := groupingOf(ctx, a, ks, n)
	p, err := l.newPlan(a, aggs)
	if err != nil {
		return nil, err
	}
	g.bytes += p.bytes
	firsts, err := g.aggregate(p)
	if err != nil {
		return nil, err
	}
	first, err := indexColumn(a, firsts, nil, 0)
	if err != nil {
		return nil, err
	}
	out := &kernels.Grouped{First: first}
	if out.Values, err = p.columns(); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// aggregate aggregates by the first way that does.
func (g *grouping) aggregate(p *aggPlan) (firsts vec[uint32], err error) {
	firsts, done, err := g.aggregateOnce(p)
	if done || err != nil {
		return firsts, err
	}
	table, err := g.few()
	if err != nil {
		return firsts, err
	}
	if table == nil {
		return g.aggregateMany(p)
	}
	return table.firsts, g.aggregateFew(table, p)
}

// columns are the results of a plan.
func (p *aggPlan) columns() ([]*memory.Column, error) {
	var cols []*memory.Column
	for i, f := range p.finishes {
		if f.over.Load() {
			for _, c := range cols {
				c.Release()
			}
			return nil, &kernels.OverflowError{Op: f.agg.Op, Type: f.out.t, At: i}
		}
		c, err := f.out.column()
		if err != nil {
			for _, c := range cols {
				c.Release()
			}
			return nil, err
		}
		cols = append(cols, c)
	}
	return cols, nil
}

// start allocates the results of n groups.
func (p *aggPlan) start(n int) error {
	for _, f := range p.finishes {
		if err := f.out.start(n); err != nil {
			return err
		}
	}
	return nil
}

// aggChunks is how many pieces rows are cut into to be aggregated into groups
// that have states for each piece: few enough for all states together to be
// small against the rows.
func aggChunks(rows, groups int64) int64 {
	return max(1, min(64, int64(morsels(rows)), rows/(16*max(groups, 1))))
}

// aggregateChunks folds chunk after chunk, several at once, into states of
// their own; these are merged in the order of the chunks, whoever made them.
func (p *aggPlan) aggregateChunks(ctx context.Context, rows, groups int64, ids func(b *batch) error) error {
	if err := p.start(int(groups)); err != nil {
		return err
	}
	chunks := aggChunks(rows, groups)
	size := (rows + chunks - 1) / chunks
	parts := make([]*states, chunks)
	all := batchStash{}
	err := tasks(ctx, int(chunks), func(_, c int) (err error) {
		b, _ := all.get()
		defer all.put(b)
		if parts[c], err = p.newStates(int(groups)); err != nil {
			return err
		}
		from, k := min(int64(c)*size, rows), 0
		return batches(b, from, min(from+size, rows), func() error {
			if k++; k%64 == 0 {
				if err := device.Canceled(ctx, "cpu", ""); err != nil {
					return err
				}
			}
			if err := ids(b); err != nil {
				return err
			}
			parts[c].update(b)
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, later := range parts[1:] {
		parts[0].merge(later, nil)
		later.free()
	}
	parts[0].emit(int(groups), nil)
	parts[0].free()
	return nil
}

// aggregateFew aggregates by a table of all groups.
func (g *grouping) aggregateFew(table *grouper, p *aggPlan) error {
	return p.aggregateChunks(g.ctx, g.n, int64(table.count()), func(b *batch) error {
		if g.ks.fill(b) {
			b.compact()
		}
		return table.insert(b)
	})
}

// aggregateMany aggregates partition by partition: first to number the groups,
// then, now that each has its row of the results, to fill these.
func (g *grouping) aggregateMany(p *aggPlan) (firsts vec[uint32], err error) {
	m, err := g.newMany(int64(4 + 8*len(p.finishes)))
	if err != nil {
		return firsts, err
	}
	r, err := m.findFirsts(nil)
	if err != nil {
		return firsts, err
	}
	if firsts, err = r.rows(g.ctx, g.a); err != nil {
		return firsts, err
	}
	if err = p.start(int(r.n)); err != nil {
		return firsts, err
	}
	if len(p.states) == 0 { // distinct keys alone
		m.free()
		r.free(g.a)
		return firsts, nil
	}
	err = m.run(func(w *manyWorker, part int) (err error) {
		if w.states == nil {
			w.states, err = p.newStates(int(m.groups[part]))
			return err
		}
		return w.states.reset(int(m.groups[part]))
	}, func(w *manyWorker) {
		w.states.update(w.batch)
	}, func(w *manyWorker, part int) error {
		if err := w.ranks.resize(g.a, w.count()); err != nil {
			return err
		}
		for i, row := range w.firsts.s {
			w.ranks.s[i] = r.of(row)
		}
		w.states.emit(w.count(), w.ranks.s)
		return nil
	})
	if err == nil {
		m.free()
		r.free(g.a)
	}
	return firsts, err
}

func (l *loops) groupThenAggregate(ctx context.Context, s device.Stream, keys []*memory.Column, aggs []kernels.Aggregate, o kernels.GroupOptions) (*kernels.Grouped, error) {
	groups, err := l.group(ctx, s, keys, o)
	if err != nil {
		return nil, err
	}
	defer groups.Release()
	values, err := l.aggregateAll(ctx, s, aggs, groups.IDs, groups.N)
	if err != nil {
		return nil, err
	}
	return &kernels.Grouped{First: groups.First.Retain(), Values: values}, nil
}
