package main

// #include "base.h"
import "C"

import (
	"fmt"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// importer makes columns of one foreign array and what is in it.
type importer struct {
	from  *foreign
	level C.int64_t  // of validation
	at    *elsewhere // nil for the host's memory
}

// importArray moves an array of a field that importField gave, and makes a column of it. The array is released, whatever becomes of it.
func importArray(p *C.struct_ArrowArray, f foreignField, level C.int64_t) (*memory.Column, error) {
	own, from, err := moveArray(p)
	if err != nil {
		return nil, err
	}
	defer from.drop()
	return importer{from, level, nil}.whole(own, f)
}

// whole makes a column of an array, checked as far as the level says.
func (m importer) whole(own *C.struct_ArrowArray, f foreignField) (*memory.Column, error) {
	level := m.level
	if level < C.VOLLEY_VALIDATE_CHEAP || level > C.VOLLEY_VALIDATE_FULL {
		return nil, mismatch("there is no level of validation %d", int64(level))
	}
	c, err := m.column(own, f.own, f.Type)
	if err != nil || level != C.VOLLEY_VALIDATE_FULL {
		return c, err
	}
	if err = m.validate(c); err != nil {
		c.Release()
		return nil, err
	}
	return c, nil
}

// column makes a column of type t of one array of type given: the same, or what memory.Held makes t of.
func (m importer) column(p *C.struct_ArrowArray, t, given arrow.DataType) (_ *memory.Column, err error) {
	if p == nil || p.release == nil {
		return nil, mismatch("an array of %s is NULL or was released", t)
	}
	length, offset, nulls := int64(p.length), int64(p.offset), int64(p.null_count)
	if length < 0 || offset < 0 || length > math.MaxInt64/64-offset {
		return nil, mismatch("an array of %s of length %d and offset %d", t, length, offset)
	}
	if nulls < -1 || nulls > length {
		return nil, mismatch("an array of %s of length %d has %d nulls", t, length, nulls)
	}
	parts := memory.Parts{Type: t, Len: length, Offset: offset, Nulls: nulls, Place: memory.Host}
	if m.at != nil {
		parts.Place = m.at.b.Device.Place()
	}
	taken := false
	defer func() {
		if !taken {
			for _, b := range parts.Buffers {
				b.Release()
			}
			for _, c := range parts.Children {
				c.Release()
			}
			parts.Dictionary.Release()
		}
	}()
	layout := memory.LayoutOf(t)
	if memory.IsView(given) {
		if m.at != nil {
			return nil, device.Errorf(device.ErrUnsupported, parts.Place.String(), "import", "an array of %s: views are read on the host alone", given)
		}
		taken = true
		return m.views(p, given)
	}
	if err = m.buffers(&parts, p, layout, given); err != nil {
		return nil, fmt.Errorf("an array of %s: %w", t, err)
	}
	if err = m.children(&parts, p, t, given); err != nil {
		return nil, err
	}
	taken = true
	c, err := memory.NewColumn(parts)
	if err != nil {
		return nil, fmt.Errorf("an array of %s: %w", t, err)
	}
	return c, nil
}

// bufferCounts are how many buffers arrays of each layout have.
var bufferCounts = map[memory.Layout]int64{
	memory.LayoutNull: 0, memory.LayoutStruct: 1, memory.LayoutBits: 2, memory.LayoutFixed: 2, memory.LayoutDictionary: 2, memory.LayoutList: 2,
	memory.LayoutLargeList: 2, memory.LayoutBinary: 3, memory.LayoutLargeBinary: 3,
}

func (m importer) buffers(parts *memory.Parts, p *C.struct_ArrowArray, layout memory.Layout, arrayType arrow.DataType) error {
	if layout == memory.LayoutNull {
		return nil // some give it a bitmap all the same
	}
	size, fixed := memory.FixedSize(arrayType)
	want := bufferCounts[layout]
	if fixed {
		want-- // the offsets
	}
	if int64(p.n_buffers) != want {
		return mismatch("%d buffers where there are %d", int64(p.n_buffers), want)
	}
	if p.buffers == nil {
		return mismatch("the list of buffers is NULL")
	}
	given := addresses(p)
	add := func(q uintptr, n int64, align int) error {
		b, err := m.buffer(q, n, align)
		if err == nil {
			parts.Buffers = append(parts.Buffers, b)
		}
		return err
	}
	if given[0] == 0 || parts.Nulls == 0 {
		if parts.Nulls > 0 {
			return mismatch("%d nulls and no validity bitmap", parts.Nulls)
		}
		parts.Buffers, parts.Nulls = append(parts.Buffers, nil), 0
	} else if err := add(given[0], memory.BitmapBytes(parts.Offset+parts.Len), 1); err != nil {
		return err
	}
	end := parts.Offset + parts.Len
	if fixed {
		if m.at != nil {
			return device.Errorf(device.ErrUnsupported, parts.Place.String(), "import", "values of a fixed size are read on the host alone")
		}
		offsets, err := memory.EvenOffsets(memory.Heap, end, size)
		if err != nil {
			return err
		}
		if parts.Buffers = append(parts.Buffers, offsets); layout == memory.LayoutLargeBinary {
			return add(given[1], end*int64(size), 1)
		}
		return nil
	}
	switch layout {
	case memory.LayoutBits:
		return add(given[1], memory.BitmapBytes(end), 1)
	case memory.LayoutFixed, memory.LayoutDictionary:
		width := memory.Width(parts.Type)
		return add(given[1], end*int64(width), min(width, 8))
	case memory.LayoutList, memory.LayoutBinary:
		return m.offsets(parts, given, 4, add)
	case memory.LayoutLargeList, memory.LayoutLargeBinary:
		return m.offsets(parts, given, 8, add)
	}
	return nil
}

// buffer is n bytes of the array's memory.
func (m importer) buffer(p uintptr, n int64, align int) (*memory.Buffer, error) {
	if m.at == nil {
		return m.from.buffer(p, n, align)
	}
	return m.at.buffer(m.from, p, n, align)
}

// addresses are those of an array's buffers: numbers, as an empty buffer may be anywhere, such as at 8, and the runtime ends the process where it finds
// that in a pointer of a stack that it moves.
func addresses(p *C.struct_ArrowArray) []uintptr {
	return unsafe.Slice((*uintptr)(unsafe.Pointer(p.buffers)), p.n_buffers)
}

// pointer is what is at an address of C's.
func pointer(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// offsets adds a buffer of offsets, of a width in bytes, and of texts the bytes that the last of them ends.
func (m importer) offsets(parts *memory.Parts, given []uintptr, width int64, add func(uintptr, int64, int) error) error {
	rows, at, data := parts.Offset+parts.Len, given[1], int64(0)
	if at == 0 && rows > 0 {
		return mismatch("the offsets are NULL")
	}
	if at == 0 && m.at != nil { // of no rows: what is on a device needs none
		parts.Buffers = append(parts.Buffers, nil)
		return nil
	}
	if rows == 0 && m.at == nil { // Arrow lets an array without values have no offsets: what it has may be an empty buffer
		at = uintptr(unsafe.Pointer(&C.vly_zeros[0]))
	}
	if err := add(at, (rows+1)*width, int(width)); err != nil {
		return err
	}
	if parts.Len > 0 {
		own := parts.Buffers[len(parts.Buffers)-1]
		first, err := m.offsetAt(own, width, parts.Offset)
		if err != nil {
			return err
		}
		last, err := m.offsetAt(own, width, rows)
		if err != nil {
			return err
		}
		if first < 0 || last < first {
			return mismatch("offsets that go from %d to %d", first, last)
		}
		data = last
	}
	if len(given) < 3 {
		return nil
	}
	return add(given[2], data, 1)
}

func offsetAt(b *memory.Buffer, width, i int64) int64 {
	if width == 4 {
		return int64(memory.View[int32](b)[i])
	}
	return memory.View[int64](b)[i]
}

func (m importer) children(parts *memory.Parts, p *C.struct_ArrowArray, t, given arrow.DataType) error {
	fields, theirs := fieldsOf(t), fieldsOf(given)
	if d, ok := t.(*arrow.DictionaryType); ok {
		if p.dictionary == nil {
			return mismatch("an array of %s has no dictionary", t)
		}
		c, err := m.column(p.dictionary, d.ValueType, given.(*arrow.DictionaryType).ValueType)
		if err != nil {
			return fmt.Errorf("dictionary: %w", err)
		}
		parts.Dictionary = c
	}
	if int64(p.n_children) != int64(len(fields)) || len(fields) > 0 && p.children == nil {
		return mismatch("an array of %s has %d children where there are %d", t, int64(p.n_children), len(fields))
	}
	for i, child := range unsafe.Slice(p.children, len(fields)) {
		c, err := m.column(child, fields[i].Type, theirs[i].Type)
		if err != nil {
			return fmt.Errorf("child %q: %w", fields[i].Name, err)
		}
		parts.Children = append(parts.Children, c)
	}
	if _, isList := t.(arrow.ListLikeType); isList && parts.Len > 0 {
		width := int64(4)
		if memory.LayoutOf(t) == memory.LayoutLargeList {
			width = 8
		}
		end, err := m.offsetAt(parts.Buffers[1], width, parts.Offset+parts.Len)
		if err != nil {
			return err
		}
		if end > parts.Children[0].Len() {
			return mismatch("an array of %s ends at item %d of %d", t, end, parts.Children[0].Len())
		}
	}
	return nil
}

// fieldsOf are the children of a type.
func fieldsOf(t arrow.DataType) []arrow.Field {
	switch t := t.(type) {
	case arrow.ListLikeType:
		return []arrow.Field{t.ElemField()}
	case *arrow.StructType:
		return t.Fields()
	}
	return nil
}

// checkUTF8 looks at the texts of a column, value by value, so that the error names the row.
func checkUTF8(c *memory.Column) error {
	switch c.Type().ID() {
	case arrow.STRING:
		return checkTexts(c, memory.Offsets[int32](c))
	case arrow.LARGE_STRING:
		return checkTexts(c, memory.Offsets[int64](c))
	case arrow.DICTIONARY:
		return checkUTF8(c.Dictionary())
	}
	for i := range c.NumChildren() {
		if err := checkUTF8(c.Child(i)); err != nil {
			return err
		}
	}
	return nil
}

func checkTexts[T int32 | int64](c *memory.Column, offsets []T) error {
	bytes := c.Buffer(2).Bytes()
	for i := range c.Len() {
		if !c.IsNull(i) && !utf8.Valid(bytes[offsets[i]:offsets[i+1]]) {
			return mismatch("row %d of %s is not UTF-8", i, c.Type())
		}
	}
	return nil
}
