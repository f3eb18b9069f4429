package cpu

import (
	"context"
	"math"
	"runtime"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// takeOffsets writes the offsets of what is taken and gives how many bytes or
// items come before each morsel's. A row that is null takes none.
func takeOffsets[T int32 | int64, I index](ctx context.Context, o *out, c *memory.Column, p *chosen[I]) ([]int64, error) {
	if err := o.buffer(1, offsetWidth[T]()*(o.parts.Len+1)); err != nil {
		return nil, err
	}
	src, dst, valid := memory.Offsets[T](c), view[T](o, 1), c.Validity()
	bases := make([]int64, morsels(o.parts.Len)+1)
	err := p.each(ctx, func(m span) error {
		if valid == nil && p.valid == nil {
			sum, bad := lengths(dst[m.from:m.to], src, p.indices[m.from:m.to], p.limit)
			if bad >= 0 {
				return p.refuse(m.from + int64(bad))
			}
			bases[m.index+1] = sum
			return nil
		}
		clear(dst[m.from:m.to])
		sum := int64(0)
		err := p.rows(m, func(i int64, row uint64) {
			if valid == nil || valid.Get(c.Offset()+int64(row)) {
				n := src[row+1] - src[row]
				dst[i] = n
				sum += int64(n)
			}
		})
		bases[m.index+1] = sum
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(bases); i++ {
		bases[i] += bases[i-1]
	}
	if err := fits[T](bases[len(bases)-1], c); err != nil {
		return nil, err
	}
	dst[o.parts.Len] = T(bases[len(bases)-1])
	return bases, p.each(ctx, func(m span) error {
		at := T(bases[m.index])
		for i, n := range dst[m.from:m.to] {
			dst[m.from+int64(i)] = at
			at += n
		}
		return nil
	})
}

// lengths are those of the rows that indices name, and their sum; bad is the
// place of an index that is no row, or -1.
func lengths[T int32 | int64, I index](dst, offsets []T, indices []I, rows uint64) (sum int64, bad int) {
	dst = dst[:len(indices)]
	for i, index := range indices {
		row := uint64(index)
		if row >= rows {
			return 0, i
		}
		n := offsets[row+1] - offsets[row]
		dst[i] = n
		sum += int64(n)
	}
	return sum, -1
}

// fits checks that n bytes or items can be counted by offsets of T.
func fits[T int32 | int64](n int64, c *memory.Column) error {
	if offsetWidth[T]() == 4 && n > math.MaxInt32 {
		return device.Errorf(device.ErrValue, "", "", "a result of %d bytes or items is too long for the 32-bit offsets of %s: cast to the large type (large_utf8, large_binary, large_list)", n, c.Type())
	}
	return nil
}

// takeText gathers strings: offsets, then the bytes.
func takeText[T int32 | int64, I index](ctx context.Context, o *out, c *memory.Column, p *chosen[I]) error {
	bases, err := takeOffsets[T](ctx, o, c, p)
	if err != nil {
		return err
	}
	if err := o.buffer(2, bases[len(bases)-1]); err != nil {
		return err
	}
	offsets, src := memory.Offsets[T](c), stringBytes(c)
	to, dst := view[T](o, 1), o.parts.Buffers[2].Bytes()
	return p.each(ctx, func(m span) error {
		bytes := copier{ctx: ctx}
		own := dst[:bases[m.index+1]] // what lies behind a string here is written after it
		if p.valid == nil {
			for from := m.from; from < m.to; from += textBlock {
				next := min(from+textBlock, m.to)
				copyTexts(&bytes, own, to[from:next+1], src, offsets, p.indices[from:next])
			}
			return bytes.end()
		}
		err := p.rows(m, func(i int64, row uint64) {
			a, n := to[i], to[i+1]-to[i]
			if n == 0 {
				return
			}
			from := offsets[row]
			if n <= 16 && int(from)+16 <= len(src) && int(a)+16 <= len(own) {
				*(*[16]byte)(own[a:]) = [16]byte(src[from:]) // two moves in place of a call
				return
			}
			bytes.copy(own[a:a+n], src[from:from+n])
		})
		if err == nil {
			err = bytes.end()
		}
		return err
	})
}

// textBlock is how many strings copyTexts takes at a time.
const textBlock = 512

// widestCopy is the longest text that is copied by whole steps of 32 bytes, rather than
// by a call that looks how long it is first.
const widestCopy = 128

// copyTexts copies the strings that indices name to the places to. It looks up
// where they are, touches them and copies them in loops of their own, so that
// as many misses of the cache as the processor can bear are under way at once:
// in one loop too few strings fit its window.
//
// Texts are copied in whole steps where there is room: what follows one is written over
// by the next.
func copyTexts[T int32 | int64, I index](bytes *copier, own []byte, to []T, src []byte, offsets []T, indices []I) {
	var room [textBlock]T
	starts := room[:len(indices)]
	for i, index := range indices {
		starts[i] = offsets[uint64(index)]
	}
	touched := byte(0)
	for _, from := range starts {
		if uint64(from) < uint64(len(src)) {
			touched |= src[from]
		}
	}
	runtime.KeepAlive(touched)
	to = to[:len(starts)+1]
	for i, from := range starts {
		a, n := to[i], to[i+1]-to[i]
		switch {
		case n == 0:
		case n <= 16 && int(from)+16 <= len(src) && int(a)+16 <= len(own):
			*(*[16]byte)(own[a:]) = [16]byte(src[from:]) // two moves in place of a call
		case n <= widestCopy && int(from)+int(n)+31 <= len(src) && int(a)+int(n)+31 <= len(own):
			for k := T(0); k < n; k += 32 {
				*(*[32]byte)(own[a+k:]) = [32]byte(src[from+k:])
			}
		default:
			bytes.copy(own[a:a+n], src[from:from+n])
		}
	}
}

// takeList gathers lists: offsets, then the items by their own row numbers.
func takeList[T int32 | int64, I index](ctx context.Context, s device.Stream, o *out, c *memory.Column, p *chosen[I]) error {
	bases, err := takeOffsets[T](ctx, o, c, p)
	if err != nil {
		return err
	}
	var child *memory.Column
	if c.Child(0).Len() < 1<<32 {
		child, err = takeItems[T, uint32](ctx, s, o, c, p, bases[len(bases)-1])
	} else {
		child, err = takeItems[T, uint64](ctx, s, o, c, p, bases[len(bases)-1])
	}
	if err == nil {
		o.parts.Children = []*memory.Column{child}
	}
	return err
}

func takeItems[T int32 | int64, R uint32 | uint64, I index](ctx context.Context, s device.Stream, o *out, c *memory.Column, p *chosen[I], n int64) (*memory.Column, error) {
	items := newOut(s, kernels.IndexType(c.Child(0).Len()), n)
	if err := items.values(); err != nil {
		return items.column(err)
	}
	offsets, to, dst := memory.Offsets[T](c), view[T](o, 1), view[R](items, 1)
	err := p.each(ctx, func(m span) error {
		return p.rows(m, func(i int64, row uint64) {
			next := R(offsets[row])
			for k := to[i]; k < to[i+1]; k++ {
				dst[k] = next
				next++
			}
		})
	})
	rows, err := items.column(err)
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	return takeBy[R](ctx, p.l, s, c.Child(0), rows)
}
