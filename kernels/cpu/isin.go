package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// isIn tells for each value of c whether it is among those of set.
func (l *loops) isIn(ctx context.Context, s device.Stream, c, set *memory.Column) (*memory.Column, error) {
	if err := tooLong(c.Len()); err != nil {
		return nil, err
	}
	m, err := l.members(ctx, s, set)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	return m.IsIn(ctx, s, c)
}

// members is a set of values with the index in which they are found, or few of them.
type members struct {
	a     *arena // of the index
	set   *memory.Column
	index *joinIndex
	few   fewMembers
	null  uint64 // all ones where there is a null among them
}

// members indexes the values of a set.
func (l *loops) members(ctx context.Context, s device.Stream, set *memory.Column) (kernels.Members, error) {
	a := newArena(s)
	if few := fewOf(l, set); few != nil {
		m := &members{a: a, set: set.Retain(), few: few}
		if set.NullCount() > 0 {
			m.null = ^uint64(0)
		}
		return m, nil
	}
	index, err := newJoinIndex(ctx, a, []*memory.Column{set}, true)
	if err == nil {
		index.l = l
		err = index.shorten(ctx, a, l)
	}
	if err != nil {
		a.free()
		return nil, err
	}
	return &members{a: a, set: set.Retain(), index: index}, nil
}

func (m *members) Release() {
	m.a.free()
	m.set.Release()
}

// IsIn tells for each value of c whether it is in the set.
func (m *members) IsIn(ctx context.Context, s device.Stream, c *memory.Column) (*memory.Column, error) {
	if err := tooLong(c.Len()); err != nil {
		return nil, err
	}
	if m.few != nil {
		return m.isAmongFew(ctx, s, c)
	}
	a := newArena(s)
	defer a.free()
	finder, err := m.index.bind(ctx, a, []*memory.Column{c})
	if err != nil {
		return nil, err
	}
	o := newOut(s, arrow.FixedWidthTypes.Boolean, c.Len())
	err = o.bits()
	all := batchStash{}
	if err == nil {
		bits := o.bitmap(1)
		err = parallel(ctx, c.Len(), func(_ int, s span) error {
			b, _ := all.get()
			defer all.put(b)
			return batches(b, s.from, s.to, func() error {
				finder.find(b)
				for j := 0; j < b.n; j += 64 {
					k, w := min(64, b.n-j), uint64(0)
					for i, id := range b.ids[j : j+k] {
						if id != 0 {
							w |= 1 << i
						}
					}
					storeWord(bits, int64(b.from)+int64(j), int64(k), w)
				}
				return nil
			})
		})
	}
	return o.column(err)
}

// isAmongFew is IsIn of few values. What lies under a null is compared as well, and
// does not count.
func (m *members) isAmongFew(ctx context.Context, s device.Stream, c *memory.Column) (*memory.Column, error) {
	o := newOut(s, arrow.FixedWidthTypes.Boolean, c.Len())
	err := o.bits()
	if err == nil {
		bits, among, nulls := o.bitmap(1), m.few(c), c.Validity() != nil
		err = parallel(ctx, c.Len(), func(_ int, s span) error {
			among(bits, s)
			for i := s.from; nulls && i < s.to; i += 64 {
				n := min(64, s.to-i)
				valid := validWord(c, i, n)
				storeWord(bits, i, n, (bits.Word(i, n)&valid|m.null&^valid)&lowBits(n))
			}
			return nil
		})
	}
	return o.column(err)
}
