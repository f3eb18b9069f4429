package cpu

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// runs gives the runs of neighbours among the kept rows of a morsel.
func (s *selection) runs(p span, f func(from, to int64)) {
	from, to := int64(0), int64(0)
	s.words(p, func(i int64, w uint64) {
		for w != 0 {
			a := int64(bits.TrailingZeros64(w))
			n := int64(bits.TrailingZeros64(^(w >> uint(a))))
			if i+a != to {
				if to > from {
					f(from, to)
				}
				from = i + a
			}
			to = i + a + n
			if a+n >= 64 {
				break
			}
			w &^= lowBits(a + n)
		}
	})
	if to > from {
		f(from, to)
	}
}

// filterOffsets writes the offsets of the kept rows and gives how many bytes or
// items come before each morsel's. The sum fits: it is no more than that of c.
func filterOffsets[T int32 | int64](ctx context.Context, o *out, c *memory.Column, sel *selection, width int64) ([]int64, error) {
	if err := o.buffer(1, width*(o.parts.Len+1)); err != nil {
		return nil, err
	}
	src, dst := memory.Offsets[T](c), view[T](o, 1)
	bases := make([]int64, morsels(sel.n)+1)
	err := parallel(ctx, sel.n, func(_ int, p span) error {
		sum := T(0)
		sel.runs(p, func(from, to int64) { sum += src[to] - src[from] })
		bases[p.index+1] = int64(sum)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(bases); i++ {
		bases[i] += bases[i-1]
	}
	dst[o.parts.Len] = T(bases[len(bases)-1])
	return bases, parallel(ctx, sel.n, func(_ int, p span) error {
		at, sum := sel.starts[p.index], T(bases[p.index])
		sel.runs(p, func(from, to int64) {
			shift := sum - src[from]
			for k, v := range src[from:to] {
				dst[at+int64(k)] = v + shift
			}
			at += to - from
			sum += src[to] - src[from]
		})
		return nil
	})
}

// filterText keeps strings: offsets, then the bytes run by run.
func filterText[T int32 | int64](ctx context.Context, l *loops, o *out, c *memory.Column, sel *selection) error {
	if flags, err := oneByteEach(ctx, memory.Offsets[T](c)); err != nil {
		return err
	} else if flags {
		return filterFlags[T](ctx, l, o, c, sel)
	}
	bases, err := filterOffsets[T](ctx, o, c, sel, offsetWidth[T]())
	if err != nil {
		return err
	}
	if err := o.buffer(2, bases[len(bases)-1]); err != nil {
		return err
	}
	offsets, src, dst := memory.Offsets[T](c), stringBytes(c), o.parts.Buffers[2].Bytes()
	return parallel(ctx, sel.n, func(_ int, p span) error {
		to := dst[bases[p.index]:]
		bytes := copier{ctx: ctx}
		sel.runs(p, func(a, b int64) {
			from := src[offsets[a]:offsets[b]]
			bytes.copy(to, from)
			to = to[len(from):]
		})
		return bytes.end()
	})
}

// oneByteEach reports whether each of some texts has one byte.
func oneByteEach[T int32 | int64](ctx context.Context, offsets []T) (bool, error) {
	n := int64(len(offsets)) - 1
	if n <= 0 || int64(offsets[n]-offsets[0]) != n {
		return false, nil
	}
	var other atomic.Bool
	err := parallel(ctx, n, func(_ int, s span) error {
		begin, differs := offsets[s.from], T(0)
		for _, end := range offsets[s.from+1 : s.to+1] {
			differs |= end - begin - 1
			begin = end
		}
		if differs != 0 {
			other.Store(true)
		}
		return nil
	})
	return !other.Load(), err
}

// filterFlags keeps texts of one byte each as the bytes that they are.
func filterFlags[T int32 | int64](ctx context.Context, l *loops, o *out, c *memory.Column, sel *selection) error {
	if err := o.buffer(1, (sel.kept()+1)*offsetWidth[T]()); err != nil {
		return err
	}
	if err := o.buffer(2, sel.kept()); err != nil {
		return err
	}
	from := memory.Offsets[T](c)[0]
	offsets, src, dst := view[T](o, 1), stringBytes(c)[from:], view[uint8](o, 2)
	offsets[0] = 0
	return parallel(ctx, sel.n, func(_ int, p span) error {
		begin, end := sel.starts[p.index], sel.starts[p.index+1]
		if begin == end {
			return nil
		}
		l.filter.u8(dst[begin:end], src[p.from:p.to], sel.bytes(p))
		for i := begin; i < end; i++ {
			offsets[i+1] = T(i + 1)
		}
		return nil
	})
}

// filterList keeps lists: offsets, then the items, by a bitmap of those that
// are kept.
func filterList[T int32 | int64](ctx context.Context, l *loops, s device.Stream, o *out, c *memory.Column, sel *selection) error {
	if _, err := filterOffsets[T](ctx, o, c, sel, offsetWidth[T]()); err != nil {
		return err
	}
	offsets := memory.Offsets[T](c)
	first, last := int64(offsets[0]), int64(offsets[len(offsets)-1])
	items, err := c.Child(0).Slice(first, last-first)
	if err != nil {
		return err
	}
	defer items.Release()
	mask, err := memory.NewZeroed(o.alloc, memory.BitmapBytes(items.Len()))
	if err != nil {
		return err
	}
	defer mask.Release()
	kept := &selection{n: items.Len(), mask: memory.Bitmap(mask.Bytes())}
	for i := range morsels(sel.n) { // one after another: runs of items meet in a byte
		if err := device.Canceled(ctx, "", ""); err != nil {
			return err
		}
		from := int64(i) * morsel
		sel.runs(span{from, min(from+morsel, sel.n), i}, func(a, b int64) {
			kept.mask.Fill(int64(offsets[a])-first, int64(offsets[b]-offsets[a]), true)
		})
	}
	if err := kept.count(ctx); err != nil {
		return err
	}
	child, err := l.filterBy(ctx, s, items, kept)
	if err == nil {
		o.parts.Children = []*memory.Column{child}
	}
	return err
}

// offsetWidth is the number of bytes of an offset.
func offsetWidth[T int32 | int64]() int64 {
	var t T
	if any(t) == any(int32(0)) {
		return 4
	}
	return 8
}

// stringBytes is the bytes that the offsets of a column of strings count in.
func stringBytes(c *memory.Column) []byte {
	if b := c.Buffer(2); b != nil {
		return b.Bytes()
	}
	return nil
}

// copier copies the bytes of a morsel. A morsel's may be many, so that it looks
// at its context by the bytes too, and copies no more once that has ended.
type copier struct {
	ctx    context.Context
	copied int
	ended  bool
}

const copyBytes = 1 << 24 // between two looks: some milliseconds

func (c *copier) copy(dst, src []byte) {
	for len(src) > 0 && !c.ended {
		n := min(len(src), copyBytes-c.copied)
		copy(dst, src[:n])
		dst, src = dst[n:], src[n:]
		if c.copied += n; c.copied == copyBytes {
			c.copied, c.ended = 0, c.ctx.Err() != nil
		}
	}
}

// end is the error of a context that ended meanwhile.
func (c *copier) end() error {
	if c.ended {
		return device.Canceled(c.ctx, "", "")
	}
	return nil
}
