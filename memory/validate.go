package memory

import "github.com/apache/arrow-go/v18/arrow"

// Validate reads the contents of a host column that came from outside: offsets
// must rise and stay inside their bytes or items, dictionary indices inside
// their dictionary, and the null count must be that of the bitmap. The error
// names the first bad row. It does not look at UTF-8. A column that the host
// cannot read is taken as it is.
func (c *Column) Validate() error {
	if !c.place.HostAccessible() || c.length == 0 {
		return nil
	}
	if b := c.buffers[0]; b != nil {
		nulls := c.length - Bitmap(b.Bytes()).Count(c.offset, c.length)
		if told := c.nulls.Load(); told != UnknownNulls && told != nulls {
			return mismatch("a column of %s is said to have %d nulls and has %d", c.typ, told, nulls)
		}
	}
	switch LayoutOf(c.typ) {
	case LayoutBinary:
		return checkOffsets(c.typ, Offsets[int32](c), bytesOf(c.buffers[2]))
	case LayoutLargeBinary:
		return checkOffsets(c.typ, Offsets[int64](c), bytesOf(c.buffers[2]))
	case LayoutList:
		if err := checkOffsets(c.typ, Offsets[int32](c), c.children[0].length); err != nil {
			return err
		}
	case LayoutLargeList:
		if err := checkOffsets(c.typ, Offsets[int64](c), c.children[0].length); err != nil {
			return err
		}
	case LayoutDictionary:
		for i := int64(0); i < c.length; i++ {
			if k := c.Index(i); !c.IsNull(i) && (k < 0 || k >= c.dict.length) {
				return mismatch("row %d of %s: index %d in a dictionary of %d", i, c.typ, k, c.dict.length)
			}
		}
		return c.dict.Validate()
	}
	for _, child := range c.children {
		if err := child.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// checkEnds holds the last offsets of a host column, and of what it is made of,
// against their bytes. It is what an arrow-go array needs to be made at all, and
// takes no longer for many rows than for few.
func (c *Column) checkEnds() error {
	if c.length == 0 {
		return nil
	}
	end, have := int64(0), bytesOf(c.buffers[2])
	switch LayoutOf(c.typ) {
	case LayoutBinary:
		end = int64(Offsets[int32](c)[c.length])
	case LayoutLargeBinary:
		end = Offsets[int64](c)[c.length]
	case LayoutStruct:
		for i := range c.children {
			f := c.Field(i)
			err := f.checkEnds()
			f.Release()
			if err != nil {
				return err
			}
		}
		return nil
	}
	if end > have {
		return mismatch("row %d of %s: offset %d in %d bytes", c.length, c.typ, end, have)
	}
	for _, child := range c.children {
		if err := child.checkEnds(); err != nil {
			return err
		}
	}
	if c.dict != nil {
		return c.dict.checkEnds()
	}
	return nil
}

func bytesOf(b *Buffer) int64 {
	if b == nil {
		return 0
	}
	return b.Len()
}

func checkOffsets[T int32 | int64](t arrow.DataType, offsets []T, limit int64) error {
	last := T(0)
	for i, o := range offsets {
		if o < last || int64(o) > limit {
			return mismatch("row %d of %s: offset %d after %d in %d", i, t, o, last, limit)
		}
		last = o
	}
	return nil
}

// Index is index i of a dictionary host column, whatever its width. An
// unsigned one past the range of int64 is negative.
func (c *Column) Index(i int64) int64 {
	switch c.typ.(*arrow.DictionaryType).IndexType.ID() {
	case arrow.INT8:
		return int64(Values[int8](c)[i])
	case arrow.INT16:
		return int64(Values[int16](c)[i])
	case arrow.INT32:
		return int64(Values[int32](c)[i])
	case arrow.UINT8:
		return int64(Values[uint8](c)[i])
	case arrow.UINT16:
		return int64(Values[uint16](c)[i])
	case arrow.UINT32:
		return int64(Values[uint32](c)[i])
	default:
		return Values[int64](c)[i]
	}
}
