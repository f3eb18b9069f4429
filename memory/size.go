package memory

// Size is how many bytes the values take that a column shows: bits of nulls if there may be
// any, values, offsets, texts and items. Each dictionary is counted once, when it is not yet in counted; nil
// counts none. Of texts and lists on a device, whose offsets the host cannot read, it is
// what their buffers hold.
func Size(c *Column, counted map[*Column]bool) (n int64) {
	if c.MayHaveNulls() && c.Buffer(0) != nil {
		n += BitmapBytes(c.Len())
	}
	switch LayoutOf(c.Type()) {
	case LayoutBits:
		n += BitmapBytes(c.Len())
	case LayoutFixed:
		n += c.Len() * int64(Width(c.Type()))
	case LayoutDictionary:
		n += c.Len() * int64(Width(c.Type()))
		if d := c.Dictionary(); counted != nil && !counted[d] {
			counted[d] = true
			n += Size(d, counted)
		}
	case LayoutBinary, LayoutLargeBinary:
		first, last := window(c)
		n += c.Len()*offsetWidth(c) + last - first
	case LayoutList, LayoutLargeList:
		first, last := window(c)
		n += c.Len() * offsetWidth(c)
		if items, err := c.Child(0).Slice(first, last-first); err == nil {
			n += Size(items, counted)
			items.Release()
		}
	case LayoutStruct:
		for i := range c.NumChildren() {
			field := c.Field(i)
			n += Size(field, counted)
			field.Release()
		}
	}
	return n
}

func offsetWidth(c *Column) int64 {
	switch LayoutOf(c.Type()) {
	case LayoutLargeBinary, LayoutLargeList:
		return 8
	}
	return 4
}

// window is where the texts or items of a column begin and end.
func window(c *Column) (first, last int64) {
	if c.Len() == 0 {
		return 0, 0
	}
	if !c.Place().HostAccessible() {
		if c.NumChildren() > 0 {
			return 0, c.Child(0).Len()
		}
		if c.Buffer(2) == nil {
			return 0, 0
		}
		return 0, c.Buffer(2).Len()
	}
	if offsetWidth(c) == 8 {
		o := Offsets[int64](c)
		return o[0], o[len(o)-1]
	}
	o := Offsets[int32](c)
	return int64(o[0]), int64(o[len(o)-1])
}
