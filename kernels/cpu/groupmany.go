package cpu

import (
	"math/bits"

	"github.com/volley-go/volley/device"
)

// many is the second way of grouping: by partitions.
type many struct {
	*grouping
	part   *rowParts
	dense  bool
	places int      // of a dense partition
	low    uint64   // the bits of a word that tell places of a partition apart
	groups []uint32 // of each partition, once they were found
	tables stash[*manyWorker]
}

type manyWorker struct {
	*grouper
	*batch
	states *states // of a fused group-by
	ranks  vec[uint32]
}

// newMany decides on the partitions and counts their rows.
func (g *grouping) newMany(outBytes int64) (*many, error) {
	m := &many{grouping: g}
	guess := max(g.guess, manyGroups)
	p := &rowParts{ctx: g.ctx, a: g.a, src: g.ks, n: g.n}
	if m.dense = g.ks.small(g.n); m.dense {
		shift := uint(bits.Len64(manyGroups * g.ks.card / uint64(guess)))
		shift = min(shift, uint(bits.Len(densePlaces)-1))
		for g.ks.card>>shift >= mostParts {
			shift++
		}
		m.places, m.low = 1<<shift, 1<<shift-1
		p.parts = int((g.ks.card-1)>>shift) + 1
		p.of = func(words []uint64, parts []uint32) {
			for j, w := range words {
				parts[j] = uint32(w >> shift)
			}
		}
	} else {
		p.parts = 16
		for int64(p.parts)*manyGroups < guess && p.parts < mostParts {
			p.parts *= 2
		}
		shift := uint(64 - bits.Len(uint(p.parts)-1))
		p.of = func(words []uint64, parts []uint32) {
			for j, w := range words {
				parts[j] = uint32(mix(w) >> shift)
			}
		}
	}
	// Row numbers may take a fifth of what input and output take.
	p.room = max(1<<20, (g.n*g.bytes+guess*outBytes)/5/4)
	m.part, m.groups = p, make([]uint32, p.parts)
	m.tables.make = func() (*manyWorker, error) {
		return &manyWorker{grouper: newGrouper(g.a, g.ks), batch: takeBatch()}, nil
	}
	return m, p.count()
}

// run groups each partition: step is called with every batch after its rows
// have got the numbers that their groups have within the partition, and done
// when the partition is through.
func (m *many) run(begin func(w *manyWorker, part int) error, step func(w *manyWorker), done func(w *manyWorker, part int) error) error {
	return m.part.each(func(part int, rows []uint32) error {
		w, err := m.tables.get()
		if err != nil {
			return err
		}
		defer m.tables.put(w)
		if m.dense {
			err = w.resetDense(m.places, m.low)
		} else {
			expect := int(m.groups[part])
			if expect == 0 {
				expect = min(len(rows), int(2*m.guess)/m.part.parts)
			}
			err = w.resetHash(expect + 1)
		}
		if err == nil {
			err = begin(w, part)
		}
		for k := 0; err == nil && len(rows) > 0; k++ {
			n := min(batchRows, len(rows))
			w.gather(rows[:n])
			rows = rows[n:]
			m.ks.fill(w.batch)
			if err = w.insert(w.batch); err == nil {
				step(w)
			}
			if err == nil && k%64 == 63 {
				err = device.Canceled(m.ctx, "cpu", "")
			}
		}
		if err == nil {
			err = done(w, part)
		}
		return err
	})
}

// findFirsts marks the first row of each group; into, if not nil, gets the
// first row of the group of each row.
func (m *many) findFirsts(into []uint32) (*ranks, error) {
	r, err := newRanks(m.a, m.n)
	if err != nil {
		return nil, err
	}
	begin := func(*manyWorker, int) error { return nil }
	err = m.run(begin, func(w *manyWorker) {
		if into == nil {
			return
		}
		firsts := w.firsts.s
		for j, row := range w.rows {
			into[row] = firsts[w.ids[j]]
		}
	}, func(w *manyWorker, part int) error {
		m.groups[part] = uint32(w.count())
		r.mark(w.firsts.s)
		return nil
	})
	if err == nil {
		r.count()
	}
	return r, err
}

// free gives tables and row numbers back before the end of the call.
func (m *many) free() {
	for _, w := range m.tables.all {
		w.grouper.free()
		w.batch.give()
	}
	m.part.free()
}
