package cpu

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// filter keeps the rows that a mask says: it counts them by morsel, allocates
// exactly that, and lets each morsel write its own range. Nothing but the
// counts is made besides the result; where all rows stay the result is a window
// of the argument.
func (l *loops) filterColumn(ctx context.Context, s device.Stream, c, mask *memory.Column, o kernels.FilterOptions) (*memory.Column, error) {
	sel, err := selectRows(ctx, mask, o.EmitNull)
	if err != nil {
		return nil, err
	}
	return l.filterBy(ctx, s, c, sel)
}

func (l *loops) filterBy(ctx context.Context, s device.Stream, c *memory.Column, sel *selection) (*memory.Column, error) {
	if sel.all() {
		return c.Slice(0, c.Len())
	}
	o := newOut(s, c.Type(), sel.kept())
	layout := memory.LayoutOf(c.Type())
	var err error
	if layout != memory.LayoutNull {
		err = l.filterValidity(ctx, o, c, sel)
	}
	if err != nil {
		return o.column(err)
	}
	switch layout {
	case memory.LayoutNull:
	case memory.LayoutBits:
		err = l.filterBits(ctx, o, c, sel)
	case memory.LayoutFixed, memory.LayoutDictionary:
		o.parts.Dictionary = c.Dictionary().Retain()
		err = l.filterFixed(ctx, o, c, sel)
	case memory.LayoutBinary:
		err = filterText[int32](ctx, l, o, c, sel)
	case memory.LayoutLargeBinary:
		err = filterText[int64](ctx, l, o, c, sel)
	case memory.LayoutList:
		err = filterList[int32](ctx, l, s, o, c, sel)
	case memory.LayoutLargeList:
		err = filterList[int64](ctx, l, s, o, c, sel)
	case memory.LayoutStruct:
		for k := 0; k < c.NumChildren() && err == nil; k++ {
			field := c.Field(k)
			var kept *memory.Column
			if kept, err = l.filterBy(ctx, s, field, sel); err == nil {
				o.parts.Children = append(o.parts.Children, kept)
			}
			field.Release()
		}
	default:
		err = device.Errorf(device.ErrUnsupported, "", "", "columns of type %s", c.Type())
	}
	return o.column(err)
}

// filterValidity makes the validity of the kept rows, if any of them is null.
func (l *loops) filterValidity(ctx context.Context, o *out, c *memory.Column, sel *selection) error {
	valid := c.Validity()
	if valid == nil && !sel.emitNull {
		return nil
	}
	word := func(i, k int64) uint64 {
		v := lowBits(k)
		if valid != nil {
			v = valid.Word(c.Offset()+i, k)
		}
		if sel.emitNull {
			v &= sel.valid.Word(sel.validAt+i, k)
		}
		return v
	}
	var nulls atomic.Int64
	err := parallel(ctx, sel.n, func(_ int, p span) error {
		count := 0
		sel.words(p, func(i int64, w uint64) {
			count += bits.OnesCount64(w &^ word(i, min(64, p.to-i)))
		})
		nulls.Add(int64(count))
		return nil
	})
	if err != nil || nulls.Load() == 0 {
		return err
	}
	o.parts.Nulls = nulls.Load()
	o.parts.Buffers[0], err = newBits(o.alloc, o.parts.Len)
	if err != nil {
		return err
	}
	return l.compressBits(ctx, o.valid(), sel, word)
}

func (l *loops) filterBits(ctx context.Context, o *out, c *memory.Column, sel *selection) error {
	if err := o.bits(); err != nil {
		return err
	}
	values := c.Bits()
	return l.compressBits(ctx, o.bitmap(1), sel, func(i, k int64) uint64 { return values.Word(c.Offset()+i, k) })
}

// compressBits writes the kept ones of the bits that word gives.
func (l *loops) compressBits(ctx context.Context, dst memory.Bitmap, sel *selection, word func(i, k int64) uint64) error {
	writers := make([]bitWriter, morsels(sel.n))
	err := parallel(ctx, sel.n, func(_ int, p span) error {
		b := newBitWriter(dst, sel.starts[p.index])
		v, masks := make([]uint64, 0, morsel/64), make([]uint64, 0, morsel/64)
		sel.words(p, func(i int64, w uint64) {
			v, masks = append(v, word(i, min(64, p.to-i))), append(masks, w)
		})
		l.filter.compressWords(v, masks)
		for i, w := range masks {
			b.put(v[i], uint(bits.OnesCount64(w)))
		}
		b.end()
		writers[p.index] = b
		return nil
	})
	if err == nil {
		join(dst, writers)
	}
	return err
}

func (l *loops) filterFixed(ctx context.Context, o *out, c *memory.Column, sel *selection) error {
	if err := o.values(); err != nil {
		return err
	}
	switch memory.Width(c.Type()) {
	case 1:
		return filterWidth[uint8](ctx, l, o, c, sel)
	case 2:
		return filterWidth[uint16](ctx, l, o, c, sel)
	case 4:
		return filterWidth[uint32](ctx, l, o, c, sel)
	case 8:
		return filterWidth[uint64](ctx, l, o, c, sel)
	default:
		return filterWidth[[2]uint64](ctx, l, o, c, sel)
	}
}

func filterWidth[T any](ctx context.Context, l *loops, o *out, c *memory.Column, sel *selection) error {
	src, dst, keep := memory.Values[T](c), view[T](o, 1), keeperFor[T](l, c)
	return parallel(ctx, sel.n, func(_ int, p span) error {
		if to := dst[sel.starts[p.index]:sel.starts[p.index+1]]; len(to) > 0 {
			keep(to, src[p.from:p.to], sel.bytes(p))
		}
		return nil
	})
}

// sparse is how many times the rows kept there are at least where they are sought by the
// bits of the mask. Vector loops go over all rows; of 16 bytes each they read three
// lines in four for nothing where one row in sixteen is kept.
const sparse = 16

// keeperFor is the loop for a column: one that is larger than the caches leaves
// nothing of the result in them.
func keeperFor[T any](l *loops, c *memory.Column) func(dst, src []T, mask []byte) {
	dense := keeperOf[T](&l.filter.keepers)
	if c.Len()*int64(memory.Width(c.Type())) >= pastCaches {
		dense = keeperOf[T](&l.filter.past)
	}
	return func(dst, src []T, mask []byte) {
		if len(dst)*sparse <= len(src) {
			keepValues(dst, src, mask)
			return
		}
		dense(dst, src, mask)
	}
}
