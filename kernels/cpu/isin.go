package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// isIn tells for each value of c whether it is among those of set.
func isIn(ctx context.Context, s device.Stream, c, set *memory.Column) (*memory.Column, error) {
	a := newArena(s)
	defer a.free()
	if err := tooLong(c.Len()); err != nil {
		return nil, err
	}
	index, err := newJoinIndex(ctx, a, []*memory.Column{set}, true)
	if err != nil {
		return nil, err
	}
	finder, err := index.bind(ctx, a, []*memory.Column{c})
	if err != nil {
		return nil, err
	}
	o := newOut(s, arrow.FixedWidthTypes.Boolean, c.Len())
	err = o.bits()
	all := stash[*batch]{make: func() (*batch, error) { return new(batch), nil }}
	if err == nil {
		m := o.bitmap(1)
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
					storeWord(m, int64(b.from)+int64(j), int64(k), w)
				}
				return nil
			})
		})
	}
	return o.column(err)
}
