package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// carryRows is the least rows that are worth cutting into parts at once.
const carryRows = 1 << 14

// sortColumns sorts columns. Where the keys are numbers, the keys among the
// columns are had back from the sorted words, in which they are whole; and where
// one more column of four or eight bytes is to be sorted, its values go with the
// words in place of row numbers. Then nothing is looked up at random: each column
// is read in order, and what is written is the result (see carrier). Other
// columns are taken by the rows' numbers.
func (l *loops) sortColumns(ctx context.Context, s device.Stream, keys []kernels.SortKey, columns []*memory.Column) ([]*memory.Column, error) {
	if len(columns) == 0 {
		return nil, nil
	}
	if n := keys[0].Values.Len(); n >= carryRows && kernels.IndexType(n).ID() == arrow.UINT32 {
		if sorted, err := l.carriedColumns(ctx, s, keys, columns); sorted != nil || err != nil {
			return sorted, err
		}
	}
	rows, err := l.sortIndices(ctx, s, keys)
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	sorted := make([]*memory.Column, len(columns))
	return l.takeRest(ctx, s, sorted, columns, rows)
}

// takeRest takes the columns that are not sorted yet.
func (l *loops) takeRest(ctx context.Context, s device.Stream, sorted, columns []*memory.Column, rows *memory.Column) ([]*memory.Column, error) {
	for i, c := range columns {
		if sorted[i] != nil {
			continue
		}
		var err error
		if sorted[i], err = l.takeColumn(ctx, s, c, rows, kernels.TakeOptions{Trusted: true}); err != nil {
			return nil, giveUp(sorted, err)
		}
	}
	return sorted, nil
}

// giveUp releases columns.
func giveUp(columns []*memory.Column, err error) error {
	for _, c := range columns {
		c.Release()
	}
	return err
}

// carriedColumns are the columns, or nil where they are not of the kind.
func (l *loops) carriedColumns(ctx context.Context, s device.Stream, keys []kernels.SortKey, columns []*memory.Column) ([]*memory.Column, error) {
	for _, k := range keys {
		if memory.LayoutOf(k.Values.Type()) != memory.LayoutFixed || k.Values.Type().ID() == arrow.DECIMAL128 {
			return nil, nil
		}
	}
	if !nullsApart(keys) && nullsOf(keys[0].Values) > bigRows { // one part, and too big: not worth counting first
		return nil, nil
	}
	of, others := make([]*memory.Column, len(columns)), 0 // the key that a column is
	payload := -1
	for i, c := range columns {
		k, err := keyWithin(ctx, keys, c)
		if err != nil {
			return nil, err
		}
		if of[i] = k; k == nil {
			others, payload = others+1, i
		}
	}
	if others == len(columns) {
		return nil, nil
	}
	if others == 1 && memory.LayoutOf(columns[payload].Type()) == memory.LayoutFixed && !hasNulls(columns[payload]) {
		switch memory.Width(columns[payload].Type()) {
		case 4:
			return carried[uint32](ctx, l, s, keys, columns, of, payload)
		case 8:
			return carried[uint64](ctx, l, s, keys, columns, of, payload)
		}
	}
	return carried[uint32](ctx, l, s, keys, columns, of, -1)
}

// keyWithin is the key whose column c is, if its values can be had back from
// their words: those of nulls have a place of their own where there is no other
// key, of zeros of both signs and of NaNs not.
func keyWithin(ctx context.Context, keys []kernels.SortKey, c *memory.Column) (*memory.Column, error) {
	for _, k := range keys {
		v := k.Values
		if v != c && (!arrow.TypeEqual(v.Type(), c.Type()) || v.Offset() != c.Offset() || v.Buffer(0) != c.Buffer(0) || v.Buffer(1) != c.Buffer(1)) {
			continue
		}
		if len(keys) > 1 && hasNulls(v) {
			return nil, nil
		}
		lossy, err := lossyFloats(ctx, v)
		if lossy || err != nil {
			return nil, err
		}
		return v, nil
	}
	return nil, nil
}

// lossyFloats reports whether a column has floats that are not the ones of their
// words.
func lossyFloats(ctx context.Context, c *memory.Column) (bool, error) {
	switch c.Type().ID() {
	case arrow.FLOAT32:
		return anyLossy(ctx, c, memory.Values[uint32](c), 1<<31, 0xff<<23)
	case arrow.FLOAT64:
		return anyLossy(ctx, c, memory.Values[uint64](c), 1<<63, 0x7ff<<52)
	default:
		return false, nil
	}
}

// anyLossy looks for the zero with a sign, and for what is greater than infinity,
// not under nulls.
func anyLossy[T uint32 | uint64](ctx context.Context, c *memory.Column, bits []T, sign, infinity T) (bool, error) {
	found := make([]bool, morsels(int64(len(bits))))
	err := parallel(ctx, int64(len(bits)), func(_ int, m span) error {
		bad := false
		for i, x := range bits[m.from:m.to] {
			if x == sign || x&^sign > infinity {
				bad = bad || !isNull(c, m.from+int64(i))
			}
		}
		found[m.index] = bad
		return nil
	})
	for _, f := range found {
		if f {
			return true, err
		}
	}
	return false, err
}

// carriesBy reports whether a carrier can sort by levels: one to cut by and the
// same or one more to sort by.
func carriesBy[R row](levels []level[R]) bool {
	for i := range levels {
		if levels[i].text != nil {
			return false
		}
	}
	return len(levels) == 1 || len(levels) == 2 && levels[0].bits <= partBits
}

// carried sorts the columns, of which payload, if there is one, goes with the
// words. It is nil where the keys do not fit or are too uneven.
func carried[R row](ctx context.Context, l *loops, s device.Stream, keys []kernels.SortKey, columns, of []*memory.Column, payload int) (sorted []*memory.Column, err error) {
	n := keys[0].Values.Len()
	var levels []level[R]
	if nullsApart(keys) {
		levels, err = planApart[R](ctx, keys[0])
	} else {
		levels, err = plan[R](ctx, l, s, keys)
	}
	if err != nil || !carriesBy(levels) {
		return nil, err
	}
	c := &carrier[R]{ctx: ctx, loops: l, alloc: s.Device().Memory(), cutBy: &levels[0], by: &levels[len(levels)-1], all: int(n)}
	outs := make([]*out, len(columns))
	var last *restored[R]
	var words, rows *memory.Buffer
	defer func() {
		for _, o := range outs { // of which no column was made
			if o != nil {
				o.parts.Buffers[1].Release()
			}
		}
		words.Release()
		rows.Release()
	}()
	for i, k := range of {
		if k == nil {
			continue
		}
		at, there := c.restoring(k)
		if !there {
			return nil, nil
		}
		o := newOut(s, columns[i].Type(), n)
		outs[i] = o
		if err := o.values(); err != nil {
			return nil, err
		}
		at.put = putter(o)
		if memory.Width(o.parts.Type) == 8 && words == nil { // sorted where its values are to be
			words = o.parts.Buffers[1].Retain()
			last = at
		} else {
			c.restore = append(c.restore, at)
		}
	}
	if last != nil {
		c.restore = append(c.restore, last)
	} else if words, err = memory.New(c.alloc, 8*n); err != nil {
		return nil, err
	}
	o := newOut(s, kernels.IndexType(n), n)
	if payload >= 0 {
		c.payload = memory.Values[R](columns[payload])
		o = newOut(s, columns[payload].Type(), n)
	}
	if err := o.values(); err != nil {
		return nil, err
	}
	rows = o.parts.Buffers[1].Retain()
	order, err := o.column(nil)
	if err != nil {
		return nil, err
	}
	defer order.Release()
	c.words, c.rows = memory.View[uint64](words), memory.View[R](rows)
	if nullsApart(keys) {
		c.setApart(keys[0], c.words, c.rows)
	}
	done, err := c.sort()
	if err != nil || !done {
		return nil, err
	}
	all := make([]*memory.Column, len(columns))
	for i, x := range outs {
		switch {
		case i == payload:
			all[i] = order.Retain()
		case x != nil:
			if c.apart != nil {
				if err := clearNulls(ctx, x, keys[0]); err != nil {
					return nil, giveUp(all, err)
				}
			}
			outs[i] = nil
			if all[i], err = withNulls(x, keys[0], of[i]); err != nil {
				return nil, giveUp(all, err)
			}
		}
	}
	return l.takeRest(ctx, s, all, columns, order)
}
