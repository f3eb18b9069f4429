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
func filter(ctx context.Context, s device.Stream, c, mask *memory.Column, o kernels.FilterOptions) (*memory.Column, error) {
	sel, err := selectRows(ctx, mask, o.EmitNull)
	if err != nil {
		return nil, err
	}
	return filterBy(ctx, s, c, sel)
}

func filterBy(ctx context.Context, s device.Stream, c *memory.Column, sel *selection) (*memory.Column, error) {
	if sel.all() {
		return c.Slice(0, c.Len())
	}
	o := newOut(s, c.Type(), sel.kept())
	layout := memory.LayoutOf(c.Type())
	var err error
	if layout != memory.LayoutNull {
		err = filterValidity(ctx, o, c, sel)
	}
	if err != nil {
		return o.column(err)
	}
	switch layout {
	case memory.LayoutNull:
	case memory.LayoutBits:
		err = filterBits(ctx, o, c, sel)
	case memory.LayoutFixed, memory.LayoutDictionary:
		o.parts.Dictionary = c.Dictionary().Retain()
		err = filterFixed(ctx, o, c, sel)
	case memory.LayoutBinary:
		err = filterText[int32](ctx, o, c, sel)
	case memory.LayoutLargeBinary:
		err = filterText[int64](ctx, o, c, sel)
	case memory.LayoutList:
		err = filterList[int32](ctx, s, o, c, sel)
	case memory.LayoutLargeList:
		err = filterList[int64](ctx, s, o, c, sel)
	case memory.LayoutStruct:
		for k := 0; k < c.NumChildren() && err == nil; k++ {
			field := c.Field(k)
			var kept *memory.Column
			if kept, err = filterBy(ctx, s, field, sel); err == nil {
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
func filterValidity(ctx context.Context, o *out, c *memory.Column, sel *selection) error {
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
	return compressBits(ctx, o.valid(), sel, word)
}

func filterBits(ctx context.Context, o *out, c *memory.Column, sel *selection) error {
	if err := o.bits(); err != nil {
		return err
	}
	values := c.Bits()
	return compressBits(ctx, o.bitmap(1), sel, func(i, k int64) uint64 { return values.Word(c.Offset()+i, k) })
}

// compressBits writes the kept ones of the bits that word gives.
func compressBits(ctx context.Context, dst memory.Bitmap, sel *selection, word func(i, k int64) uint64) error {
	writers := make([]bitWriter, morsels(sel.n))
	err := parallel(ctx, sel.n, func(_ int, p span) error {
		b := newBitWriter(dst, sel.starts[p.index])
		sel.words(p, func(i int64, w uint64) {
			b.put(compress(word(i, min(64, p.to-i)), w), uint(bits.OnesCount64(w)))
		})
		b.end()
		writers[p.index] = b
		return nil
	})
	if err == nil {
		join(dst, writers)
	}
	return err
}

func filterFixed(ctx context.Context, o *out, c *memory.Column, sel *selection) error {
	if err := o.values(); err != nil {
		return err
	}
	switch memory.Width(c.Type()) {
	case 1:
		return filterWidth[uint8](ctx, o, c, sel)
	case 2:
		return filterWidth[uint16](ctx, o, c, sel)
	case 4:
		return filterWidth[uint32](ctx, o, c, sel)
	case 8:
		return filterWidth[uint64](ctx, o, c, sel)
	default:
		return filterWidth[[2]uint64](ctx, o, c, sel)
	}
}

func filterWidth[T any](ctx context.Context, o *out, c *memory.Column, sel *selection) error {
	src, dst := memory.Values[T](c), view[T](o, 1)
	return parallel(ctx, sel.n, func(_ int, p span) error {
		to := dst[sel.starts[p.index]:sel.starts[p.index+1]]
		for i := p.from; i < p.to; i += 64 {
			to = to[keep(to, src[i:min(i+64, p.to)], sel.word(i, min(64, p.to-i))):]
		}
		return nil
	})
}

// keep copies the up to 64 values of src whose bit is set in w and gives their
// number.
func keep[T any](dst, src []T, w uint64) int {
	n := bits.OnesCount64(w)
	if n == len(src) {
		return copy(dst, src)
	}
	if len(src) < 64 || n == 0 {
		for k := range n {
			dst[k] = src[bits.TrailingZeros64(w)]
			w &= w - 1
		}
		return n
	}
	from, to := (*[64]T)(src), dst[:n]
	for k := range to {
		to[k] = from[bits.TrailingZeros64(w)&63]
		w &= w - 1
	}
	return n
}
