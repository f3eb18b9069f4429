package cpu

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// aggregate aggregates values by group.
func (l *loops) aggregate(ctx context.Context, s device.Stream, op kernels.Aggregation, values, ids *memory.Column, n int64, o kernels.AggregateOptions) (*memory.Column, error) {
	cols, err := l.aggregateAll(ctx, s, []kernels.Aggregate{{Op: op, Values: values, Options: o}}, ids, n)
	if err != nil {
		return nil, err
	}
	return cols[0], nil
}

// aggregateAll does several aggregations of the same groups.
func (l *loops) aggregateAll(ctx context.Context, s device.Stream, aggs []kernels.Aggregate, ids *memory.Column, n int64) ([]*memory.Column, error) {
	if err := tooLong(max(ids.Len(), n)); err != nil {
		return nil, err
	}
	a := newArena(s)
	defer a.free()
	if err := checkIDs(ctx, ids, n); err != nil {
		return nil, err
	}
	var plain []kernels.Aggregate
	var given []int // the places of plain among aggs
	for i, agg := range aggs {
		if agg.Op != kernels.CountDistinct {
			plain, given = append(plain, agg), append(given, i)
		}
	}
	p, err := l.newPlan(a, plain)
	if err != nil {
		return nil, err
	}
	if len(plain) > 0 {
		if err := aggregateIDs(ctx, a, p, ids, n); err != nil {
			return nil, err
		}
	}
	rest, err := p.columns()
	if over := (*kernels.OverflowError)(nil); errors.As(err, &over) {
		over.At = given[over.At]
	}
	if err != nil {
		return nil, err
	}
	cols := make([]*memory.Column, 0, len(aggs))
	for _, agg := range aggs {
		if agg.Op != kernels.CountDistinct {
			cols, rest = append(cols, rest[0]), rest[1:]
			continue
		}
		c, err := distinctByGroup(ctx, a, agg.Values, ids, n)
		if err != nil {
			for _, c := range append(cols, rest...) {
				c.Release()
			}
			return nil, err
		}
		cols = append(cols, c)
	}
	return cols, nil
}

// checkIDs finds group numbers out of range.
func checkIDs(ctx context.Context, ids *memory.Column, n int64) error {
	return parallel(ctx, ids.Len(), func(_ int, s span) error {
		for i := s.from; i < s.to; i++ {
			if id := idAt(ids, i); id >= uint64(n) && !ids.IsNull(i) {
				return device.Errorf(device.ErrValue, "cpu", "", "row %d is of group %d of %d", i, id, n)
			}
		}
		return nil
	})
}

func idAt(ids *memory.Column, i int64) uint64 {
	if ids.Type().ID() == arrow.UINT32 {
		return uint64(memory.Values[uint32](ids)[i])
	}
	return memory.Values[uint64](ids)[i]
}

// idSource gives group numbers as words.
type idSource struct{ ids *memory.Column }

func (s idSource) fill(b *batch) (skips bool) {
	words := b.words[:b.n]
	if s.ids.Type().ID() == arrow.UINT32 {
		values := memory.Values[uint32](s.ids)
		for j := range words {
			words[j] = uint64(values[b.row(j)])
		}
	} else {
		values := memory.Values[uint64](s.ids)
		for j := range words {
			words[j] = values[b.row(j)]
		}
	}
	valid := s.ids.Validity()
	if valid == nil {
		return false
	}
	for j := range words {
		b.skip[j] = !valid.Get(s.ids.Offset() + int64(b.row(j)))
		skips = skips || b.skip[j]
	}
	return skips
}

// aggregateIDs aggregates by given numbers: in chunks of rows when there are
// few groups, else group range by group range.
func aggregateIDs(ctx context.Context, a *arena, p *aggPlan, ids *memory.Column, n int64) error {
	src := idSource{ids}
	take := func(b *batch, base uint64) {
		if src.fill(b) {
			b.compact()
		}
		for j, w := range b.words[:b.n] {
			b.ids[j] = uint32(w - base)
		}
	}
	if n <= fewGroups {
		return p.aggregateChunks(ctx, ids.Len(), n, func(b *batch) error {
			take(b, 0)
			return nil
		})
	}
	if err := p.start(int(n)); err != nil {
		return err
	}
	shift := uint(14)
	for n>>shift >= mostParts {
		shift++
	}
	part := &rowParts{ctx: ctx, a: a, src: src, n: ids.Len(), parts: int((n-1)>>shift) + 1, room: maxRows}
	part.of = func(words []uint64, parts []uint32) {
		for j, w := range words {
			parts[j] = uint32(w >> shift)
		}
	}
	if err := part.count(); err != nil {
		return err
	}
	type worker struct {
		*states
		*batch
		at vec[uint32]
	}
	all := stash[*worker]{make: func() (*worker, error) {
		w := &worker{batch: takeBatch()}
		var err error
		if w.at, err = newVec[uint32](a, 1<<shift); err == nil {
			w.states, err = p.newStates(1 << shift)
		}
		return w, err
	}}
	return part.eachOfAll(func(k int, rows []uint32) error {
		w, err := all.get()
		if err != nil {
			return err
		}
		defer all.put(w)
		base := int64(k) << shift
		groups := int(min(1<<shift, n-base))
		if err := w.states.reset(groups); err != nil {
			return err
		}
		for i := 0; len(rows) > 0; i++ {
			if i%64 == 63 {
				if err := device.Canceled(ctx, "cpu", ""); err != nil {
					return err
				}
			}
			m := min(batchRows, len(rows))
			w.gather(rows[:m])
			rows = rows[m:]
			take(w.batch, uint64(base))
			w.states.update(w.batch)
		}
		for g := range groups {
			w.at.s[g] = uint32(base) + uint32(g)
		}
		w.emit(groups, w.at.s)
		return nil
	})
}

// distinctByGroup counts the first rows of distinct (group, value) pairs.
func distinctByGroup(ctx context.Context, a *arena, values, ids *memory.Column, n int64) (*memory.Column, error) {
	g, err := newGrouping(ctx, a, plainLoops, []*memory.Column{ids, values}, true)
	if err != nil {
		return nil, err
	}
	rows, err := g.firstRows()
	if err != nil {
		return nil, err
	}
	counts, err := zeroVec[int64](a, int(n))
	if err != nil {
		return nil, err
	}
	for _, row := range rows.s {
		counts.s[idAt(ids, int64(row))]++
	}
	a.drop(rows.b)
	return memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: n, Buffers: []*memory.Buffer{nil, a.keep(counts.b)}})
}
