package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// indices writes the dictionary indices of rows [from, from+len(dst)) of c.
// Those under a null may be anything.
func indices(dst []int64, c *memory.Column, from int64) {
	switch c.Type().(*arrow.DictionaryType).IndexType.ID() {
	case arrow.INT8:
		widen(dst, memory.Values[int8](c)[from:])
	case arrow.INT16:
		widen(dst, memory.Values[int16](c)[from:])
	case arrow.INT32:
		widen(dst, memory.Values[int32](c)[from:])
	case arrow.UINT8:
		widen(dst, memory.Values[uint8](c)[from:])
	case arrow.UINT16:
		widen(dst, memory.Values[uint16](c)[from:])
	case arrow.UINT32:
		widen(dst, memory.Values[uint32](c)[from:])
	default:
		copy(dst, memory.Values[int64](c)[from:])
	}
}

func widen[T integer](dst []int64, src []T) {
	src = src[:len(dst)]
	for i, v := range src {
		dst[i] = int64(v)
	}
}

// rowBlock is how many rows are worked on at once where a step needs scratch.
const rowBlock = 1024

// blocks runs f over the rows of a span in runs of at most rowBlock.
func blocks(s span, f func(from, to int64)) {
	for from := s.from; from < s.to; from += rowBlock {
		f(from, min(from+rowBlock, s.to))
	}
}

// decode is a dictionary column as a column of its values.
func decode(ctx context.Context, s device.Stream, c *memory.Column) (*memory.Column, error) {
	d := c.Dictionary()
	n := c.Len()
	if d.Len() == 0 { // every row is null
		return nullColumn(s, d.Type(), n)
	}
	o := newOut(s, d.Type(), n)
	layout := memory.LayoutOf(d.Type())
	if layout == memory.LayoutNull {
		return o.column(nil)
	}
	err := o.nullsOf(c)
	if err != nil {
		return o.column(err)
	}
	switch layout {
	case memory.LayoutBits:
		err = decodeBits(ctx, o, c)
	case memory.LayoutBinary:
		err = decodeText[int32](ctx, o, c)
	case memory.LayoutLargeBinary:
		err = decodeText[int64](ctx, o, c)
	default:
		switch memory.Width(d.Type()) {
		case 1:
			err = decodeFixed[uint8](ctx, o, c)
		case 2:
			err = decodeFixed[uint16](ctx, o, c)
		case 4:
			err = decodeFixed[uint32](ctx, o, c)
		case 8:
			err = decodeFixed[uint64](ctx, o, c)
		default:
			err = decodeFixed[decimal](ctx, o, c)
		}
	}
	return o.column(err)
}

func decodeFixed[T any](ctx context.Context, o *out, c *memory.Column) error {
	if err := o.values(); err != nil {
		return err
	}
	dst, values := view[T](o, 1), memory.Values[T](c.Dictionary())
	return parallel(ctx, c.Len(), func(_ int, s span) error {
		var at [rowBlock]int64
		blocks(s, func(from, to int64) {
			indices(at[:to-from], c, from)
			run := dst[from:to]
			for i := range run {
				if k := at[i&(rowBlock-1)]; uint64(k) < uint64(len(values)) { // else the row is null
					run[i] = values[k]
				}
			}
		})
		return nil
	})
}

func decodeBits(ctx context.Context, o *out, c *memory.Column) error {
	if err := o.bits(); err != nil {
		return err
	}
	d := c.Dictionary()
	table := make([]byte, d.Len())
	for i := range table {
		table[i] = bit(d.Bits().Get(d.Offset() + int64(i)))
	}
	return lookUp(ctx, o.bitmap(1), c, table)
}

// lookUp makes row i of dst the bit that the table has for the row's index.
func lookUp(ctx context.Context, dst memory.Bitmap, c *memory.Column, table []byte) error {
	return parallel(ctx, c.Len(), func(_ int, s span) error {
		var at [rowBlock]int64
		blocks(s, func(from, to int64) {
			indices(at[:to-from], c, from)
			for i := from; i < to; i += 64 {
				n := min(64, to-i)
				w := uint64(0)
				for k, index := range at[i-from : i-from+n] {
					if uint64(index) < uint64(len(table)) {
						w |= uint64(table[index]) << uint(k)
					}
				}
				storeWord(dst, i, n, w)
			}
		})
		return nil
	})
}

func decodeText[T int32 | int64](ctx context.Context, o *out, c *memory.Column) error {
	values := textsOf[T](c.Dictionary())
	valid := o.valid()
	at := func(i int64) []byte {
		if !rowIn(valid, i) {
			return nil
		}
		return values.at(c.Index(i))
	}
	return buildText(ctx, o, func(_ int, s span, lengths []T) {
		for i := range lengths {
			lengths[i] = T(len(at(s.from + int64(i))))
		}
	}, func(_ int, s span, data []byte) {
		for i := s.from; i < s.to; i++ {
			data = data[copy(data, at(i)):]
		}
	})
}
