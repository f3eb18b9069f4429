package cpu

import (
	"sync/atomic"

	"github.com/volley-go/volley/device"
)

// aggregateOnce reads the rows once: each worker numbers the groups that it
// meets, and folds chunks of rows into states under its own numbers; at the
// end these are mapped to the common ones and merged in the order of chunks.
// The states of all chunks are small against the rows where the guess of the
// number of groups holds; where it does not, or there are many groups, done is
// false and nothing was made. That, and the chunks, depend on the data alone.
func (g *grouping) aggregateOnce(p *aggPlan) (firsts vec[uint32], done bool, err error) {
	dense := g.fewWords()
	if g.guess > fewGuess && g.n > smallRows && !dense {
		return firsts, false, nil
	}
	limit := min(g.guess+g.guess/4+1024, fewGroups)
	if g.ks.card != 0 && g.ks.card < uint64(limit) {
		limit = int64(g.ks.card)
	}
	chunks := aggChunks(g.n, limit)
	size := (g.n + chunks - 1) / chunks
	type worker struct {
		*grouper
		*batch
		number int
	}
	tables := perWorker[*worker]{make: func() (*worker, error) {
		w := &worker{grouper: newGrouper(g.a, g.ks), batch: takeBatch()}
		if dense {
			return w, w.resetDense(int(g.ks.card), ^uint64(0))
		}
		return w, w.resetHash(int(limit))
	}}
	parts, of := make([]*states, chunks), make([]*worker, chunks)
	var over atomic.Bool
	err = tasks(g.ctx, int(chunks), func(number, c int) error {
		w, err := tables.of(number)
		if err != nil {
			return err
		}
		s, err := p.newStates(int(limit))
		if err != nil {
			return err
		}
		parts[c], of[c] = s, w
		from, k := min(int64(c)*size, g.n), 0
		return batches(w.batch, from, min(from+size, g.n), func() error {
			if k++; k%64 == 0 {
				if err := device.Canceled(g.ctx, "cpu", ""); err != nil {
					return err
				}
			}
			if over.Load() {
				return nil
			}
			if g.ks.fill(w.batch) {
				w.compact()
			}
			if err := w.insert(w.batch); err != nil {
				return err
			}
			if int64(w.count()) > limit {
				over.Store(true)
				return nil
			}
			s.update(w.batch)
			return nil
		})
	})
	if err != nil {
		return firsts, false, err
	}
	release := func() {
		for _, w := range tables.all {
			w.grouper.free()
			w.batch.give()
		}
		for _, s := range parts {
			s.free()
		}
	}
	var united *united
	if !over.Load() {
		var all []*grouper
		for _, w := range tables.all {
			w.number = len(all)
			all = append(all, w.grouper)
		}
		united, err = g.unite(all, limit)
	}
	if united == nil || err != nil {
		release()
		return firsts, false, err
	}
	firsts = united.firsts
	groups := len(firsts.s)
	if err := p.start(groups); err != nil {
		return firsts, false, err
	}
	sum, err := p.newStates(groups)
	if err != nil {
		return firsts, false, err
	}
	for c, s := range parts {
		sum.merge(s, united.at[of[c].number].s)
	}
	sum.emit(groups, nil)
	sum.free()
	united.free(g.a)
	release()
	return firsts, true, nil
}

// united is the numbering of the groups of several tables, in order of first
// appearance.
type united struct {
	firsts vec[uint32]
	at     []vec[uint32] // the number of each group of each table; nil for the same
}

func (u *united) free(a *arena) {
	for _, at := range u.at {
		a.drop(at.b)
	}
}

// unite numbers the groups of tables of several workers; nil when there are
// more than limit. A worker meets rows in rising order, so the first row of a
// group is the least of the workers' first rows.
func (g *grouping) unite(tables []*grouper, limit int64) (*united, error) {
	u := &united{at: make([]vec[uint32], len(tables))}
	if len(tables) <= 1 {
		for _, t := range tables {
			u.firsts, t.firsts = t.firsts, vec[uint32]{}
		}
		return u, nil
	}
	total := newGrouper(g.a, g.ks)
	if err := tables[0].resetLike(total, int(limit)); err != nil {
		return nil, err
	}
	defer total.free()
	b := takeBatch()
	defer b.give()
	for i, t := range tables {
		var err error
		if u.at[i], err = newVec[uint32](g.a, t.count()); err != nil {
			return nil, err
		}
		for at, rows := u.at[i].s, t.firsts.s; len(rows) > 0; at, rows = at[b.n:], rows[b.n:] {
			b.gather(rows[:min(batchRows, len(rows))])
			g.ks.fill(b)
			if err := total.insert(b); err != nil {
				return nil, err
			}
			for j, id := range b.ids[:b.n] {
				at[j] = id
				total.firsts.s[id] = min(total.firsts.s[id], b.rows[j])
			}
		}
	}
	if int64(total.count()) > limit {
		u.free(g.a)
		return nil, nil
	}
	r, err := newRanks(g.a, g.n)
	if err != nil {
		return nil, err
	}
	r.mark(total.firsts.s)
	r.count()
	for i := range tables {
		at := u.at[i].s
		for j, id := range at {
			at[j] = r.of(total.firsts.s[id])
		}
	}
	u.firsts, err = r.rows(g.ctx, g.a)
	r.free(g.a)
	return u, err
}
