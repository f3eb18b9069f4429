package cpu

import (
	"sync/atomic"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// aggPlan is what a list of aggregations needs to know of rows: the columns
// that they read and, without doubles, the states to be kept of each.
type aggPlan struct {
	l        *loops
	a        *arena
	cols     []*aggColumn
	states   []stateSpec
	finishes []*finish
	bytes    int64 // of values for each row
}

// aggColumn is a column of values.
type aggColumn struct {
	given *memory.Column // as the caller named it
	c     *memory.Column // the same, with its dictionary put in where numbers are needed
	valid memory.Bitmap  // from bit 0; nil where there are no nulls
	nums  bool           // c is not given
}

// stateSpec makes one state; col is the column it reads, or allRows.
type stateSpec struct {
	kind string
	col  int
	make func() state
}

const allRows = -1

// finish turns states into a column of results.
type finish struct {
	agg         kernels.Aggregate
	rows, valid int // the states that count the rows and the values of a group
	main        int
	out         *aggOut
	over        atomic.Bool // a group has a sum or product that its type does not hold
	write       func(s state, count uint32, g int, at uint32)
	writeKleene func(s *states, count uint32, g int, at uint32) // of Any and All that keep nulls
}

// states are all states of a plan for some rows.
type states struct {
	plan *aggPlan
	all  []state
}

func (l *loops) newPlan(a *arena, aggs []kernels.Aggregate) (*aggPlan, error) {
	p := &aggPlan{l: l, a: a}
	for _, agg := range aggs {
		f, err := p.add(agg)
		if err != nil {
			return nil, err
		}
		p.finishes = append(p.finishes, f)
	}
	return p, nil
}

// column finds or adds a column; numbers asks for the values of a dictionary.
func (p *aggPlan) column(c *memory.Column, numbers bool) (int, error) {
	numbers = numbers && c.Dictionary() != nil
	for i, have := range p.cols {
		if have.given == c && have.nums == numbers {
			return i, nil
		}
	}
	col := &aggColumn{given: c, c: c, nums: numbers}
	if numbers {
		decoded, err := decodeValues(p.a, c)
		if err != nil {
			return 0, err
		}
		col.c = decoded
	}
	valid, _, err := combineValidity(p.a.alloc, c.Len(), col.c)
	if err != nil {
		return 0, err
	}
	if p.a.hold(valid) != nil {
		col.valid = memory.Bitmap(valid.Bytes())
	}
	p.cols = append(p.cols, col)
	p.bytes += rowBytes(c)
	return len(p.cols) - 1, nil
}

// state finds or adds a state.
func (p *aggPlan) state(kind string, col int, make func() state) int {
	for i, s := range p.states {
		if s.kind == kind && s.col == col {
			return i
		}
	}
	p.states = append(p.states, stateSpec{kind, col, make})
	return len(p.states) - 1
}

// counter is the state that counts the values of a column.
func (p *aggPlan) counter(col int) int {
	if col != allRows && p.cols[col].valid == nil {
		col = allRows
	}
	return p.state("count", col, func() state { return &countState{groupValues[uint32]{a: p.a}} })
}

func (p *aggPlan) newStates(n int) (*states, error) {
	s := &states{plan: p}
	for _, spec := range p.states {
		s.all = append(s.all, spec.make())
	}
	return s, s.reset(n)
}

func (s *states) reset(n int) error {
	for _, st := range s.all {
		if err := st.reset(n); err != nil {
			return err
		}
	}
	return nil
}

// update folds a batch in whose rows have their groups.
func (s *states) update(b *batch) {
	for i, spec := range s.plan.states {
		if spec.col == allRows {
			s.all[i].update(b.ids[:b.n], b.rows, b.from)
		}
	}
	for k, col := range s.plan.cols {
		ids, rows, from := b.ids[:b.n], b.rows, b.from
		if col.valid != nil {
			ids, rows = b.values(col.valid)
		}
		for i, spec := range s.plan.states {
			if spec.col == k {
				s.all[i].update(ids, rows, from)
			}
		}
	}
}

// values are the groups and rows of a batch where a column is not null.
func (b *batch) values(valid memory.Bitmap) (ids, rows []uint32) {
	k := 0
	for j, id := range b.ids[:b.n] {
		row := b.row(j)
		b.group[k], b.value[k] = id, row
		k += int(valid[row>>3] >> (row & 7) & 1)
	}
	return b.group[:k], b.value[:k]
}

// merge folds in the states of rows that come after, whose groups are at[i]
// here, or i where at is nil.
func (s *states) merge(later *states, at []uint32) {
	for i, st := range s.all {
		st.merge(later.all[i], at)
	}
}

func (s *states) free() {
	for _, st := range s.all {
		st.free()
	}
}

// emit writes the results of n groups; group g is row at[g] of the results,
// or g itself where at is nil.
func (s *states) emit(n int, at []uint32) {
	for _, f := range s.plan.finishes {
		f.emit(s, n, at)
	}
}

func (f *finish) emit(s *states, n int, at []uint32) {
	rows, valid := s.all[f.rows].(*countState).acc.s, s.all[f.valid].(*countState).acc.s
	need, keep := f.rule()
	for g := range n {
		to := uint32(g)
		if at != nil {
			to = at[g]
		}
		if count := valid[g]; int64(count) < need || keep && count < rows[g] {
			f.out.null(to)
		} else if f.writeKleene != nil {
			f.writeKleene(s, count, g, to)
		} else {
			f.write(s.all[f.main], count, g, to)
		}
	}
}

// rule is how many values it takes for a result, and whether a null among
// them makes it null at once. Any and All see to that themselves: one true
// value settles Any whatever is null.
func (f *finish) rule() (need int64, keep bool) {
	switch f.agg.Op {
	case kernels.Count, kernels.CountAll:
		return 0, false
	}
	o := f.agg.Options
	if need = max(o.MinCount, 0); o.MinCount == 0 {
		need = 1
	}
	switch f.agg.Op {
	case kernels.Any, kernels.All:
		return need, false
	case kernels.Sum, kernels.Product, kernels.SumWrapping:
		return need, o.KeepNulls
	case kernels.Var, kernels.Std:
		return max(need, 1, int64(o.Ddof)+1), o.KeepNulls
	default:
		return max(need, 1), o.KeepNulls
	}
}
