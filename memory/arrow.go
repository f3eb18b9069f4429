package memory

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// FromArrow makes a host column of an arrow-go array, of the type that Held
// gives: views are copied, values of a fixed size get offsets, and nothing else
// is copied. The column holds references to the array's buffers until its last
// Release. Types that are not held are an ErrUnsupported. Contents are taken as
// they are: call Validate on arrays from outside of the process.
func FromArrow(a arrow.Array) (*Column, error) { return fromData(a.Data()) }

func fromData(d arrow.ArrayData) (*Column, error) {
	if IsView(d.DataType()) {
		return CopyViews(Heap, d)
	}
	t, err := Held(d.DataType())
	if err != nil {
		return nil, err
	}
	layout := LayoutOf(t)
	p := Parts{Type: t, Len: int64(d.Len()), Offset: int64(d.Offset()), Nulls: int64(d.NullN()), Place: Host}
	if p.Nulls < 0 {
		p.Nulls = UnknownNulls
	}
	for i, b := range d.Buffers() {
		if i >= layout.bufferCount() {
			break
		}
		p.Buffers = append(p.Buffers, fromArrowBuffer(b))
	}
	fail := func(err error) (*Column, error) {
		for _, b := range p.Buffers {
			b.Release()
		}
		for _, c := range p.Children {
			c.Release()
		}
		return nil, err
	}
	if size, is := FixedSize(d.DataType()); is {
		offsets, err := EvenOffsets(Heap, p.Offset+p.Len, size)
		if err != nil {
			return fail(err)
		}
		p.Buffers = slices.Insert(p.Buffers, 1, offsets)
	}
	for i, child := range d.Children() {
		c, err := fromData(child)
		if err != nil {
			return fail(fmt.Errorf("child %d of %s: %w", i, p.Type, err))
		}
		p.Children = append(p.Children, c)
	}
	if layout == LayoutDictionary {
		dict, err := fromData(d.Dictionary())
		if err != nil {
			return fail(fmt.Errorf("dictionary of %s: %w", p.Type, err))
		}
		p.Dictionary = dict
	}
	if len(p.Buffers) > 0 && p.Buffers[0] == nil && layout != LayoutNull {
		p.Nulls = 0
	}
	return NewColumn(p)
}

func fromArrowBuffer(b *arrowmem.Buffer) *Buffer {
	if b == nil {
		return nil
	}
	b.Retain()
	return Wrap(b.Bytes(), b.Release)
}

// ToArrow makes an arrow-go array of a host column without copying. The array
// holds references to the column's buffers until its last Release. A column on
// another device is an ErrMismatch: copy it to the host first; so is one whose
// offsets contradict its bytes (see Validate).
func ToArrow(c *Column) (a arrow.Array, err error) {
	if !c.place.HostAccessible() {
		return nil, mismatch("a column on %s as a host array", c.place)
	}
	if err := c.checkEnds(); err != nil {
		return nil, err
	}
	d := toData(c)
	defer d.Release()
	defer func() {
		if p := recover(); p != nil { // arrow-go's way to refuse what checkEnds let pass
			a, err = nil, mismatch("a column of %s as an array: %v", c.typ, p)
		}
	}()
	return array.MakeFromData(d), nil
}

func toData(c *Column) *array.Data {
	buffers := make([]*arrowmem.Buffer, max(1, LayoutOf(c.typ).bufferCount()))
	for i := range buffers {
		buffers[i] = toArrowBuffer(c.buffers[i])
		if buffers[i] != nil {
			defer buffers[i].Release()
		}
	}
	children := make([]arrow.ArrayData, len(c.children))
	for i, child := range c.children {
		children[i] = toData(child)
		defer children[i].Release()
	}
	nulls := int(c.NullCount())
	if c.dict != nil {
		dict := toData(c.dict)
		defer dict.Release()
		return array.NewDataWithDictionary(c.typ, int(c.length), buffers, nulls, int(c.offset), dict)
	}
	return array.NewData(c.typ, int(c.length), buffers, children, nulls, int(c.offset))
}

// handOff gives a buffer back when arrow-go frees what it was handed.
type handOff struct{ buffer *Buffer }

func (h handOff) Allocate(n int) []byte             { return make([]byte, n) }
func (h handOff) Reallocate(n int, b []byte) []byte { return append(make([]byte, 0, n), b...)[:n] }
func (h handOff) Free([]byte)                       { h.buffer.Release() }

func toArrowBuffer(b *Buffer) *arrowmem.Buffer {
	if b == nil {
		return nil
	}
	return arrowmem.NewBufferWithAllocator(b.Bytes(), handOff{b.Retain()})
}
