package cpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// gatherValues is the values of c at rows, each plus 1, and null at 0; of a
// dictionary column the values that the indices stand for. It may write over
// rows.
func gatherValues(a *arena, c *memory.Column, rows []uint32) (*memory.Column, error) {
	if dict := c.Dictionary(); dict != nil {
		for i, row := range rows {
			switch {
			case row == 0:
			case c.IsNull(int64(row) - 1):
				rows[i] = 0
			default:
				rows[i] = uint32(c.Index(int64(row)-1)) + 1
			}
		}
		return gatherValues(a, dict, rows)
	}
	n := int64(len(rows))
	o := &out{a.alloc, memory.Parts{Type: c.Type(), Len: n, Buffers: make([]*memory.Buffer, 3)}}
	if c.Type().ID() == arrow.NULL {
		return o.column(nil)
	}
	err := o.nullRows(c, rows)
	if err == nil {
		switch memory.LayoutOf(c.Type()) {
		case memory.LayoutBits:
			if err = o.bits(); err == nil {
				dst := o.bitmap(1)
				clear(dst)
				for i, row := range rows {
					if row != 0 && c.Bits().Get(c.Offset()+int64(row)-1) {
						dst.Set(int64(i))
					}
				}
			}
		case memory.LayoutBinary:
			err = gatherText[int32](o, c, rows)
		case memory.LayoutLargeBinary:
			err = gatherText[int64](o, c, rows)
		default:
			if err = o.values(); err == nil {
				gatherWidth(o, c, rows)
			}
		}
	}
	return o.column(err)
}

// nullRows makes the validity of rows of c.
func (o *out) nullRows(c *memory.Column, rows []uint32) error {
	nulls := int64(0)
	for _, row := range rows {
		if row == 0 || c.IsNull(int64(row)-1) {
			nulls++
		}
	}
	if nulls == 0 {
		return nil
	}
	b, err := memory.NewZeroed(o.alloc, memory.BitmapBytes(o.parts.Len))
	if err != nil {
		return err
	}
	o.parts.Buffers[0], o.parts.Nulls = b, nulls
	for i, row := range rows {
		if row != 0 && !c.IsNull(int64(row)-1) {
			memory.Bitmap(b.Bytes()).Set(int64(i))
		}
	}
	return nil
}

func gatherWidth(o *out, c *memory.Column, rows []uint32) {
	switch memory.Width(c.Type()) {
	case 1:
		gatherFixed(view[uint8](o, 1), memory.Values[uint8](c), rows)
	case 2:
		gatherFixed(view[uint16](o, 1), memory.Values[uint16](c), rows)
	case 4:
		gatherFixed(view[uint32](o, 1), memory.Values[uint32](c), rows)
	case 8:
		gatherFixed(view[uint64](o, 1), memory.Values[uint64](c), rows)
	default:
		gatherFixed(view[[2]uint64](o, 1), memory.Values[[2]uint64](c), rows)
	}
}

func gatherFixed[T any](dst, src []T, rows []uint32) {
	var zero T
	for i, row := range rows {
		if dst[i] = zero; row != 0 {
			dst[i] = src[row-1]
		}
	}
}

func gatherText[T int32 | int64](o *out, c *memory.Column, rows []uint32) error {
	var width int64 = 8
	if _, narrow := any(T(0)).(int32); narrow {
		width = 4
	}
	if err := o.buffer(1, width*int64(len(rows)+1)); err != nil {
		return err
	}
	src, dst := memory.Offsets[T](c), view[T](o, 1)
	sum := int64(0)
	dst[0] = 0
	for i, row := range rows {
		if row != 0 && !c.IsNull(int64(row)-1) {
			sum += int64(src[row] - src[row-1])
		}
		dst[i+1] = T(sum)
	}
	if width == 4 && sum > 1<<31-1 {
		return device.Errorf(device.ErrValue, "cpu", "", "%d bytes in a column of %s: cast to the large type", sum, c.Type())
	}
	if err := o.buffer(2, sum); err != nil {
		return err
	}
	from, to := bytesOf(c), o.parts.Buffers[2].Bytes()
	for i, row := range rows {
		if dst[i] < dst[i+1] {
			copy(to[dst[i]:dst[i+1]], from[src[row-1]:src[row]])
		}
	}
	return nil
}

// decodeValues is a dictionary column as a plain one; the arena owns its buffers.
func decodeValues(a *arena, c *memory.Column) (*memory.Column, error) {
	rows, err := newVec[uint32](a, int(c.Len()))
	if err != nil {
		return nil, err
	}
	for i := range rows.s {
		rows.s[i] = uint32(i) + 1
	}
	plain, err := gatherValues(a, c, rows.s)
	a.drop(rows.b)
	if err != nil {
		return nil, err
	}
	a.holdColumn(plain)
	return plain, nil
}
