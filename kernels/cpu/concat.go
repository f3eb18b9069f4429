package cpu

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// concat joins columns end to end. Morsels are of the result's rows, so that
// each writes whole bytes of its bitmaps.
func concat(ctx context.Context, s device.Stream, cols []*memory.Column) (*memory.Column, error) {
	if len(cols) == 1 {
		return cols[0].Slice(0, cols[0].Len())
	}
	j := newJoined(cols)
	o := newOut(s, cols[0].Type(), j.rows())
	layout := memory.LayoutOf(o.parts.Type)
	var err error
	if layout != memory.LayoutNull {
		err = concatValidity(ctx, o, j)
	}
	if err != nil {
		return o.column(err)
	}
	switch layout {
	case memory.LayoutNull:
	case memory.LayoutBits:
		if err = o.bits(); err == nil {
			err = concatBits(ctx, o.bitmap(1), j, func(c *memory.Column) memory.Bitmap { return c.Bits() })
		}
	case memory.LayoutFixed:
		err = concatFixed(ctx, o, j)
	case memory.LayoutDictionary:
		err = concatDictionary(ctx, s, o, j)
	case memory.LayoutBinary:
		err = concatText[int32](ctx, o, j)
	case memory.LayoutLargeBinary:
		err = concatText[int64](ctx, o, j)
	case memory.LayoutList:
		err = concatList[int32](ctx, s, o, j)
	case memory.LayoutLargeList:
		err = concatList[int64](ctx, s, o, j)
	case memory.LayoutStruct:
		for k := 0; k < cols[0].NumChildren() && err == nil; k++ {
			err = concatChildren(ctx, s, o, j, func(c *memory.Column) (*memory.Column, error) { return c.Field(k), nil })
		}
	default:
		err = device.Errorf(device.ErrUnsupported, "", "", "columns of type %s", o.parts.Type)
	}
	return o.column(err)
}

// joined is columns seen as one.
type joined struct {
	cols   []*memory.Column
	starts []int64 // the row of the whole at which each begins, and the end
}

func newJoined(cols []*memory.Column) *joined {
	j := &joined{cols: cols, starts: make([]int64, len(cols)+1)}
	for i, c := range cols {
		j.starts[i+1] = j.starts[i] + c.Len()
	}
	return j
}

func (j *joined) rows() int64 { return j.starts[len(j.cols)] }

// pieces gives the parts of columns that make up rows [from, to) of the whole:
// rows [a, b) of column k, which go to row at.
func (j *joined) pieces(from, to int64, f func(k int, a, b, at int64)) {
	lo, hi := 0, len(j.cols) // the last column that begins at or before from
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; j.starts[mid] <= from {
			lo = mid
		} else {
			hi = mid
		}
	}
	for k := lo; k < len(j.cols) && j.starts[k] < to; k++ {
		a, b := max(from, j.starts[k]), min(to, j.starts[k+1])
		if a < b {
			f(k, a-j.starts[k], b-j.starts[k], a)
		}
	}
}

func concatValidity(ctx context.Context, o *out, j *joined) error {
	nulls := int64(0)
	for _, c := range j.cols {
		nulls += c.NullCount()
	}
	if nulls == 0 {
		return nil
	}
	var err error
	if o.parts.Buffers[0], err = newBits(o.alloc, o.parts.Len); err != nil {
		return err
	}
	o.parts.Nulls = nulls
	return concatBits(ctx, o.valid(), j, (*memory.Column).Validity)
}

// concatBits joins bitmaps of columns that begin at the columns' offsets; nil
// counts as ones.
func concatBits(ctx context.Context, dst memory.Bitmap, j *joined, of func(*memory.Column) memory.Bitmap) error {
	return parallel(ctx, j.rows(), func(_ int, m span) error {
		j.pieces(m.from, m.to, func(k int, a, b, at int64) {
			if src := of(j.cols[k]); src != nil {
				dst.CopyFrom(at, src, j.cols[k].Offset()+a, b-a)
			} else {
				dst.Fill(at, b-a, true)
			}
		})
		return nil
	})
}

func concatFixed(ctx context.Context, o *out, j *joined) error {
	if err := o.values(); err != nil {
		return err
	}
	width := int64(memory.Width(o.parts.Type))
	dst := o.parts.Buffers[1].Bytes()
	return parallel(ctx, j.rows(), func(_ int, m span) error {
		j.pieces(m.from, m.to, func(k int, a, b, at int64) {
			c := j.cols[k]
			copy(dst[at*width:], c.Buffer(1).Bytes()[(c.Offset()+a)*width:(c.Offset()+b)*width])
		})
		return nil
	})
}

// concatOffsets joins offsets; it gives how many bytes or items come before
// those of each column.
func concatOffsets[T int32 | int64](ctx context.Context, o *out, j *joined) ([]int64, error) {
	bases := make([]int64, len(j.cols)+1)
	offsets := make([][]T, len(j.cols))
	for k, c := range j.cols {
		offsets[k] = memory.Offsets[T](c)
		bases[k+1] = bases[k] + int64(offsets[k][c.Len()]-offsets[k][0])
	}
	if err := fits[T](bases[len(j.cols)], j.cols[0]); err != nil {
		return nil, err
	}
	if err := o.buffer(1, offsetWidth[T]()*(o.parts.Len+1)); err != nil {
		return nil, err
	}
	dst := view[T](o, 1)
	dst[o.parts.Len] = T(bases[len(j.cols)])
	return bases, parallel(ctx, j.rows(), func(_ int, m span) error {
		j.pieces(m.from, m.to, func(k int, a, b, at int64) {
			shift := T(bases[k]) - offsets[k][0]
			to := dst[at : at+b-a]
			for i, v := range offsets[k][a:b] {
				to[i] = v + shift
			}
		})
		return nil
	})
}

func concatText[T int32 | int64](ctx context.Context, o *out, j *joined) error {
	bases, err := concatOffsets[T](ctx, o, j)
	if err != nil {
		return err
	}
	if err := o.buffer(2, bases[len(j.cols)]); err != nil {
		return err
	}
	dst := o.parts.Buffers[2].Bytes()
	bytes := &joined{cols: j.cols, starts: bases}
	const chunk = 1 << 20 // bytes that a worker copies at a time
	return tasks(ctx, int((bases[len(j.cols)]+chunk-1)/chunk), func(_, i int) error {
		from := int64(i) * chunk
		bytes.pieces(from, min(from+chunk, bases[len(j.cols)]), func(k int, a, b, at int64) {
			first := int64(memory.Offsets[T](j.cols[k])[0])
			copy(dst[at:], stringBytes(j.cols[k])[first+a:first+b])
		})
		return nil
	})
}

func concatList[T int32 | int64](ctx context.Context, s device.Stream, o *out, j *joined) error {
	if _, err := concatOffsets[T](ctx, o, j); err != nil {
		return err
	}
	return concatChildren(ctx, s, o, j, func(c *memory.Column) (*memory.Column, error) {
		offsets := memory.Offsets[T](c)
		first, last := int64(offsets[0]), int64(offsets[c.Len()])
		return c.Child(0).Slice(first, last-first)
	})
}

// concatChildren adds a child: what part gives of each column, joined.
func concatChildren(ctx context.Context, s device.Stream, o *out, j *joined, part func(*memory.Column) (*memory.Column, error)) error {
	parts := make([]*memory.Column, 0, len(j.cols))
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	for _, c := range j.cols {
		p, err := part(c)
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	child, err := concat(ctx, s, parts)
	if err == nil {
		o.parts.Children = append(o.parts.Children, child)
	}
	return err
}
