package memory

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// maxRows bounds offset and length of a column, so that no count of bytes that
// follows from them overflows.
const maxRows = 1 << 56

// check holds the parts of a new column against its type.
func (c *Column) check(p Parts) error {
	if p.Type == nil {
		return mismatch("a column without a type")
	}
	layout := LayoutOf(p.Type)
	if layout == LayoutUnknown {
		return fmt.Errorf("%w: columns of type %s", ErrUnsupported, p.Type)
	}
	if p.Len < 0 || p.Offset < 0 || p.Len > maxRows || p.Offset > maxRows-p.Len {
		return mismatch("a column of %d values from offset %d", p.Len, p.Offset)
	}
	if p.Nulls < UnknownNulls || p.Nulls > p.Len {
		return mismatch("%d nulls in a column of %d", p.Nulls, p.Len)
	}
	if len(p.Buffers) > layout.bufferCount() {
		return mismatch("%d buffers for %s, which has %d", len(p.Buffers), p.Type, layout.bufferCount())
	}
	if err := c.checkPlaces(); err != nil {
		return err
	}
	if p.Nulls > 0 && c.buffers[0] == nil && layout != LayoutNull {
		return mismatch("%d nulls in a column of %s without a validity bitmap", p.Nulls, p.Type)
	}
	end := p.Offset + p.Len
	for i, need := range needs(layout, p.Type, end) {
		b := c.buffers[i]
		if b == nil && (i == 0 || need == 0 || p.Len == 0) {
			continue
		}
		if b == nil {
			return mismatch("buffer %d of a column of %s is missing", i, p.Type)
		}
		if b.Len() < need && (p.Len > 0 || i == 0) {
			return mismatch("buffer %d of %d values of %s holds %d bytes, not %d", i, end, p.Type, b.Len(), need)
		}
	}
	return c.checkChildren(layout, end)
}

// needs is the least length of each buffer for end values.
func needs(l Layout, t arrow.DataType, end int64) []int64 {
	bitmap := BitmapBytes(end)
	switch l {
	case LayoutBits:
		return []int64{bitmap, bitmap}
	case LayoutFixed, LayoutDictionary:
		return []int64{bitmap, end * int64(Width(t))}
	case LayoutBinary:
		return []int64{bitmap, (end + 1) * 4, 0}
	case LayoutLargeBinary:
		return []int64{bitmap, (end + 1) * 8, 0}
	case LayoutList:
		return []int64{bitmap, (end + 1) * 4}
	case LayoutLargeList:
		return []int64{bitmap, (end + 1) * 8}
	case LayoutStruct:
		return []int64{bitmap}
	default:
		return nil
	}
}

// checkPlaces finds the one place that all parts live in. Parts that the host
// can read all of, some of them pinned for a device, are together on the host.
func (c *Column) checkPlaces() error {
	var found []Place
	for _, b := range c.buffers {
		if b != nil {
			found = append(found, b.Place())
		}
	}
	for _, child := range c.children {
		if child == nil {
			return mismatch("a child of a column of %s is missing", c.typ)
		}
		found = append(found, child.place)
	}
	if c.dict != nil {
		found = append(found, c.dict.place)
	}
	if len(found) == 0 && c.place == (Place{}) {
		c.place = Host
	}
	for i, p := range found {
		switch {
		case i == 0 || p == c.place:
			c.place = p
		case p.HostAccessible() && c.place.HostAccessible():
			c.place = Host
		default:
			return mismatch("a column of %s has parts on %s and on %s", c.typ, found[0], found[i])
		}
	}
	return nil
}

// checkChildren holds children and dictionary against the type.
func (c *Column) checkChildren(l Layout, end int64) error {
	takesChildren := l == LayoutList || l == LayoutLargeList || l == LayoutStruct
	if !takesChildren && len(c.children) != 0 || l != LayoutDictionary && c.dict != nil {
		return mismatch("%s with %d children and a dictionary (%v)", c.typ, len(c.children), c.dict != nil)
	}
	switch l {
	case LayoutList, LayoutLargeList:
		if len(c.children) != 1 {
			return mismatch("%s with %d children", c.typ, len(c.children))
		}
		item := c.typ.(arrow.ListLikeType).Elem()
		if !arrow.TypeEqual(item, c.children[0].typ) {
			return mismatch("%s with items of %s", c.typ, c.children[0].typ)
		}
	case LayoutStruct:
		fields := c.typ.(*arrow.StructType).Fields()
		if len(c.children) != len(fields) {
			return mismatch("%s with %d children", c.typ, len(c.children))
		}
		for i, f := range fields {
			if !arrow.TypeEqual(f.Type, c.children[i].typ) {
				return mismatch("field %q of %s holds %s", f.Name, c.typ, c.children[i].typ)
			}
			if c.children[i].length < end {
				return mismatch("field %q of %d values of %s holds %d", f.Name, end, c.typ, c.children[i].length)
			}
		}
	case LayoutDictionary:
		if c.dict == nil || !arrow.TypeEqual(c.typ.(*arrow.DictionaryType).ValueType, c.dict.typ) {
			return mismatch("a column of %s without a dictionary of that type", c.typ)
		}
	}
	return nil
}
