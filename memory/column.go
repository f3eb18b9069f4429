package memory

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
)

// UnknownNulls as a null count means that nobody has counted yet.
const UnknownNulls = -1

// Column is an immutable Arrow array on one device: a type, buffers, and the
// window [Offset, Offset+Len) of them that it shows. Values under a null are
// undefined. A window is free: Slice copies nothing, and every kernel honours
// the offset. Methods may be called from any goroutine.
type Column struct {
	typ      arrow.DataType
	place    Place
	length   int64
	offset   int64
	nulls    atomic.Int64
	buffers  [3]*Buffer
	children []*Column
	dict     *Column
	refs     atomic.Int64
}

// Parts are what a column is made of.
type Parts struct {
	Type   arrow.DataType
	Len    int64 // values shown
	Offset int64 // the first one shown, counted in values
	Nulls  int64 // nulls among those shown, or UnknownNulls
	// Buffers as LayoutOf(Type) says; Buffers[0] is the validity bitmap or nil.
	Buffers []*Buffer
	// Children are the items of a list or the fields of a struct. A struct's
	// offset applies to its children, as in Arrow.
	Children []*Column
	// Dictionary holds the values of a dictionary column.
	Dictionary *Column
	// Place is only read where there is no buffer and no child to ask; the zero
	// Place is then Host.
	Place Place
}

// NewColumn makes a column and takes over the caller's references to the
// buffers, children and dictionary, also when it fails. Lengths and places are
// checked (ErrMismatch, ErrUnsupported); the contents of offset and index
// buffers are not: Validate reads those.
func NewColumn(p Parts) (*Column, error) {
	c := &Column{typ: p.Type, place: p.Place, length: p.Len, offset: p.Offset, children: p.Children, dict: p.Dictionary}
	c.refs.Store(1)
	c.nulls.Store(p.Nulls)
	for i, b := range p.Buffers {
		if i < len(c.buffers) {
			c.buffers[i] = b
		}
	}
	if err := c.check(p); err != nil {
		for _, b := range p.Buffers[min(len(p.Buffers), len(c.buffers)):] {
			b.Release()
		}
		c.Release()
		return nil, err
	}
	if p.Type.ID() == arrow.NULL {
		c.nulls.Store(p.Len)
	} else if c.buffers[0] == nil {
		c.nulls.Store(0)
	}
	return c, nil
}

// Type is the column's Arrow type.
func (c *Column) Type() arrow.DataType { return c.typ }

// Len is the number of values.
func (c *Column) Len() int64 { return c.length }

// Offset is the index in the buffers of the first value.
func (c *Column) Offset() int64 { return c.offset }

// Place says where the column lives: on Host where its parts are in different
// places that the host can read.
func (c *Column) Place() Place { return c.place }

// Buffer is buffer i as LayoutOf(Type()) says, or nil. The caller gets no
// reference.
func (c *Column) Buffer(i int) *Buffer {
	if i < 0 || i >= len(c.buffers) {
		return nil
	}
	return c.buffers[i]
}

// Child is child i; NumChildren says how many there are. The caller gets no
// reference. A struct's child is not cut to the struct's window: see Field.
func (c *Column) Child(i int) *Column { return c.children[i] }

// NumChildren is the number of children: fields of a struct, 1 for a list.
func (c *Column) NumChildren() int { return len(c.children) }

// Dictionary is the values of a dictionary column, else nil. The caller gets
// no reference.
func (c *Column) Dictionary() *Column { return c.dict }

// Field is field i of a struct column cut to the struct's window, as a new
// reference. It does not carry the nulls of the struct itself.
func (c *Column) Field(i int) *Column {
	f, _ := c.children[i].Slice(c.offset, c.length) // checked by NewColumn
	return f
}

// NullCount is the number of nulls. It is counted on first use where the host
// can read the bitmap, and UnknownNulls where it cannot.
func (c *Column) NullCount() int64 {
	n := c.nulls.Load()
	if n == UnknownNulls && c.place.HostAccessible() {
		n = c.length - Bitmap(c.buffers[0].Bytes()).Count(c.offset, c.length)
		c.nulls.Store(n)
	}
	return n
}

// MayHaveNulls is false only where it is known that no value is null.
func (c *Column) MayHaveNulls() bool { return c.length > 0 && c.NullCount() != 0 }

// Validity is the validity bitmap of a host column, to be read from bit
// Offset() on, or nil where no value is null. A null-typed column has none
// either; its every value is null.
func (c *Column) Validity() Bitmap {
	if c.buffers[0] == nil || c.NullCount() == 0 {
		return nil
	}
	return Bitmap(c.buffers[0].Bytes())
}

// IsNull reports whether value i of a host column is null.
func (c *Column) IsNull(i int64) bool {
	if c.typ.ID() == arrow.NULL {
		return true
	}
	return c.buffers[0] != nil && !Bitmap(c.buffers[0].Bytes()).Get(c.offset+i)
}

// Values are the values of a fixed-width host column (of a dictionary its
// indices) as a slice of T, cut to the window. T must be as wide as the type.
// The slice is valid until the column's last Release.
func Values[T any](c *Column) []T {
	if c.length == 0 {
		return nil
	}
	return View[T](c.buffers[1])[c.offset : c.offset+c.length]
}

// Offsets are the Len()+1 offsets of a host column of strings, bytes or lists,
// cut to the window: T is int32, or int64 for the large types.
func Offsets[T int32 | int64](c *Column) []T {
	if c.length == 0 {
		return make([]T, 1) // Arrow allows an empty offsets buffer for no values
	}
	return View[T](c.buffers[1])[c.offset : c.offset+c.length+1]
}

// Bits are the values of a bool host column, to be read from bit Offset() on.
func (c *Column) Bits() Bitmap { return Bitmap(c.buffers[1].Bytes()) }

// Retain adds a reference and returns c. On a nil column it does nothing.
func (c *Column) Retain() *Column {
	if c != nil {
		c.refs.Add(1)
	}
	return c
}

// Release drops a reference, and with the last one those to the buffers,
// children and dictionary. On a nil column it does nothing.
func (c *Column) Release() {
	if c == nil {
		return
	}
	switch left := c.refs.Add(-1); {
	case left > 0:
	case left < 0:
		c.refs.Store(0)
		overReleases.Add(1)
	default:
		for _, b := range c.buffers {
			b.Release()
		}
		for _, child := range c.children {
			child.Release()
		}
		c.dict.Release()
	}
}

// Slice is a column that shows n values of c from offset, without a copy, as a
// new reference. A range outside of c is an ErrMismatch.
func (c *Column) Slice(offset, n int64) (*Column, error) {
	if offset < 0 || n < 0 || offset > c.length-n {
		return nil, mismatch("rows [%d, %d) of a column of %d", offset, offset+n, c.length)
	}
	nulls := int64(UnknownNulls)
	if known := c.nulls.Load(); known == 0 || n == c.length {
		nulls = known
	} else if known == c.length {
		nulls = n
	}
	s := &Column{typ: c.typ, place: c.place, length: n, offset: c.offset + offset, dict: c.dict.Retain()}
	s.refs.Store(1)
	s.nulls.Store(nulls)
	for i, b := range c.buffers {
		s.buffers[i] = b.Retain()
	}
	for _, child := range c.children {
		s.children = append(s.children, child.Retain())
	}
	return s, nil
}

// WithType is the same values under another type of the same layout and width
// (a timestamp as its int64, say), without a copy, as a new reference.
func (c *Column) WithType(t arrow.DataType) (*Column, error) {
	if LayoutOf(t) != LayoutOf(c.typ) || Width(t) != Width(c.typ) || len(c.children) > 0 || c.dict != nil {
		return nil, mismatch("%s seen as %s: their layouts differ", c.typ, t)
	}
	s, err := c.Slice(0, c.length)
	if err == nil {
		s.typ = t
	}
	return s, err
}
