package cpu

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// takeColumn gathers rows. The check of an index is the bounds check of the load, so
// that trusted indices would gain nothing.
func (l *loops) takeColumn(ctx context.Context, s device.Stream, c, indices *memory.Column, _ kernels.TakeOptions) (*memory.Column, error) {
	switch indices.Type().ID() {
	case arrow.INT8:
		return takeBy[int8](ctx, l, s, c, indices)
	case arrow.INT16:
		return takeBy[int16](ctx, l, s, c, indices)
	case arrow.INT32:
		return takeBy[int32](ctx, l, s, c, indices)
	case arrow.INT64:
		return takeBy[int64](ctx, l, s, c, indices)
	case arrow.UINT8:
		return takeBy[uint8](ctx, l, s, c, indices)
	case arrow.UINT16:
		return takeBy[uint16](ctx, l, s, c, indices)
	case arrow.UINT32:
		return takeBy[uint32](ctx, l, s, c, indices)
	default:
		return takeBy[uint64](ctx, l, s, c, indices)
	}
}

// index is a Go type of indices. Converted to uint64 a negative one is past
// the end of every column.
type index interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// chosen is what is to be taken: indices, and which of them are not null.
type chosen[I index] struct {
	l       *loops
	indices []I
	valid   memory.Bitmap // nil where none is null
	validAt int64
	limit   uint64       // rows of the column taken from
	bad     atomic.Int64 // the first position out of range, or that many as there are
}

func newChosen[I index](l *loops, c, indices *memory.Column) *chosen[I] {
	p := &chosen[I]{l: l, indices: memory.Values[I](indices), limit: uint64(c.Len())}
	if v := indices.Validity(); v != nil {
		p.valid, p.validAt = v, indices.Offset()
	}
	p.bad.Store(indices.Len())
	return p
}

// word says which of the indices [i, i+k), k <= 64, are not null.
func (p *chosen[I]) word(i, k int64) uint64 {
	if p.valid == nil {
		return lowBits(k)
	}
	return p.valid.Word(p.validAt+i, k)
}

// words says which of the indices [from, from+n), n <= takeBlock, are not null, in room;
// nil where all are not.
func (p *chosen[I]) words(room *[takeBlock / 64]uint64, from, n int64) []uint64 {
	if p.valid == nil {
		return nil
	}
	for i := int64(0); i < n; i += 64 {
		room[i/64] = p.word(from+i, min(64, n-i))
	}
	return room[:(n+63)/64]
}

// refuse notes a position whose index is out of range. Morsels are begun in
// order and each notes its first, so the least noted is the first of all.
func (p *chosen[I]) refuse(i int64) error {
	for {
		old := p.bad.Load()
		if i >= old || p.bad.CompareAndSwap(old, i) {
			break
		}
	}
	return fmt.Errorf("%w: index out of range", device.ErrValue)
}

// each runs f over morsels of positions and names the index that it refused.
func (p *chosen[I]) each(ctx context.Context, f func(m span) error) error {
	err := parallel(ctx, int64(len(p.indices)), func(_ int, m span) error { return f(m) })
	if i := p.bad.Load(); err != nil && i < int64(len(p.indices)) {
		return device.Errorf(device.ErrValue, "", "", "position %d: index %d of a column of %d rows", i, p.indices[i], p.limit)
	}
	return err
}

// rows runs f for every position of a morsel whose index is not null, after
// the index was found in range.
func (p *chosen[I]) rows(m span, f func(i int64, row uint64)) error {
	for i := m.from; i < m.to; i += 64 {
		for w := p.word(i, min(64, m.to-i)); w != 0; w &= w - 1 {
			at := i + int64(bits.TrailingZeros64(w))
			row := uint64(p.indices[at])
			if row >= p.limit {
				return p.refuse(at)
			}
			f(at, row)
		}
	}
	return nil
}

func takeBy[I index](ctx context.Context, l *loops, s device.Stream, c, indices *memory.Column) (*memory.Column, error) {
	p := newChosen[I](l, c, indices)
	o := newOut(s, c.Type(), indices.Len())
	layout := memory.LayoutOf(c.Type())
	var err error
	switch layout { // first what reads every index: the others need no check any more
	case memory.LayoutNull:
		err = p.each(ctx, func(m span) error { return p.rows(m, func(int64, uint64) {}) })
	case memory.LayoutBits:
		err = takeBits(ctx, o, c, p)
	case memory.LayoutFixed, memory.LayoutDictionary:
		o.parts.Dictionary = c.Dictionary().Retain()
		err = takeFixed(ctx, o, c, p)
	case memory.LayoutBinary:
		err = takeText[int32](ctx, o, c, p)
	case memory.LayoutLargeBinary:
		err = takeText[int64](ctx, o, c, p)
	case memory.LayoutList:
		err = takeList[int32](ctx, s, o, c, p)
	case memory.LayoutLargeList:
		err = takeList[int64](ctx, s, o, c, p)
	case memory.LayoutStruct:
		err = p.each(ctx, func(m span) error { return p.rows(m, func(int64, uint64) {}) })
		for k := 0; k < c.NumChildren() && err == nil; k++ {
			field := c.Field(k)
			var taken *memory.Column
			if taken, err = takeBy[I](ctx, l, s, field, indices); err == nil {
				o.parts.Children = append(o.parts.Children, taken)
			}
			field.Release()
		}
	default:
		err = device.Errorf(device.ErrUnsupported, "", "", "columns of type %s", c.Type())
	}
	if err == nil && layout != memory.LayoutNull {
		err = takeValidity(ctx, o, c, p)
	}
	return o.column(err)
}

// takeValidity makes the validity of what was taken, if any of it is null.
func takeValidity[I index](ctx context.Context, o *out, c *memory.Column, p *chosen[I]) error {
	from := c.Validity()
	if from == nil && p.valid == nil || o.parts.Len == 0 {
		return nil
	}
	b, err := newBits(o.alloc, o.parts.Len)
	if err != nil {
		return err
	}
	var nulls atomic.Int64
	dst, at := memory.Bitmap(b.Bytes()), c.Offset()
	err = p.each(ctx, func(m span) error {
		valid := int64(0)
		for i := m.from; i < m.to; i += 64 {
			k := min(64, m.to-i)
			w := p.word(i, k)
			if from != nil {
				for rest := w; rest != 0; rest &= rest - 1 {
					b := uint(bits.TrailingZeros64(rest))
					if !from.Get(at + int64(p.indices[i+int64(b)])) {
						w &^= 1 << b
					}
				}
			}
			valid += int64(bits.OnesCount64(w))
			storeWord(dst, i, k, w)
		}
		nulls.Add(m.to - m.from - valid)
		return nil
	})
	if err != nil || nulls.Load() == 0 {
		b.Release()
		return err
	}
	o.parts.Buffers[0], o.parts.Nulls = b, nulls.Load()
	return nil
}

func takeBits[I index](ctx context.Context, o *out, c *memory.Column, p *chosen[I]) error {
	if err := o.bits(); err != nil {
		return err
	}
	from, dst, at := c.Bits(), o.bitmap(1), c.Offset()
	return p.each(ctx, func(m span) error {
		for i := m.from; i < m.to; i += 64 {
			k := min(64, m.to-i)
			var w uint64
			err := p.rows(span{from: i, to: i + k}, func(j int64, row uint64) {
				if from.Get(at + int64(row)) {
					w |= 1 << uint(j-i)
				}
			})
			if err != nil {
				return err
			}
			storeWord(dst, i, k, w)
		}
		return nil
	})
}

func takeFixed[I index](ctx context.Context, o *out, c *memory.Column, p *chosen[I]) error {
	if err := o.values(); err != nil {
		return err
	}
	switch memory.Width(c.Type()) {
	case 1:
		return takeWidth[uint8](ctx, o, c, p)
	case 2:
		return takeWidth[uint16](ctx, o, c, p)
	case 4:
		return takeWidth[uint32](ctx, o, c, p)
	case 8:
		return takeWidth[uint64](ctx, o, c, p)
	default:
		return takeWidth[[2]uint64](ctx, o, c, p)
	}
}

func takeWidth[T any, I index](ctx context.Context, o *out, c *memory.Column, p *chosen[I]) error {
	src, dst := memory.Values[T](c), view[T](o, 1)
	if take := takerOf[T, I](&p.l.take, src); take != nil {
		return p.each(ctx, func(m span) error {
			var room [takeBlock / 64]uint64
			for from := m.from; from < m.to; from += takeBlock {
				n := min(takeBlock, m.to-from)
				valid := p.words(&room, from, n)
				if taken := int64(take(dst[from:from+n], p.indices[from:from+n], valid)); taken < n {
					return p.refuse(from + taken)
				}
			}
			return nil
		})
	}
	return p.each(ctx, func(m span) error {
		if p.valid == nil {
			to := dst[m.from:m.to]
			for i, index := range p.indices[m.from:m.to] {
				row := uint64(index)
				if row >= uint64(len(src)) {
					return p.refuse(m.from + int64(i))
				}
				to[i] = src[row]
			}
			return nil
		}
		clear(dst[m.from:m.to])
		return p.rows(m, func(i int64, row uint64) { dst[i] = src[row] })
	})
}
