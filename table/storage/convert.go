package storage

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// column makes a validated host column of an array that a decoder built in
// the arena, without copying but of views (see memory.Held). It does not depend on the array's own reference
// count, which a decoder that failed half-way may have left too high.
func (a *arena) column(d arrow.ArrayData) (*memory.Column, error) {
	c, err := a.columnOf(d)
	if err != nil {
		return nil, err
	}
	if err = c.Validate(); err == nil {
		err = validText(c)
	}
	if err != nil {
		c.Release()
		return nil, err
	}
	return c, nil
}

func (a *arena) columnOf(d arrow.ArrayData) (*memory.Column, error) {
	if memory.IsView(d.DataType()) {
		return memory.CopyViews(a.bounded(), d)
	}
	t, err := memory.Held(d.DataType())
	if err != nil {
		return nil, err
	}
	layout := memory.LayoutOf(t)
	p := memory.Parts{Type: t, Len: int64(d.Len()), Offset: int64(d.Offset()), Nulls: memory.UnknownNulls, Place: memory.Host}
	buffers := d.Buffers()
	if layout == memory.LayoutNull {
		buffers = nil
	}
	for _, b := range buffers {
		p.Buffers = append(p.Buffers, a.buffer(b))
	}
	if len(p.Buffers) > 0 && p.Buffers[0] != nil && p.Buffers[0].Len() == 0 {
		p.Buffers[0] = nil // how some writers say that there is no bitmap
	}
	fail := func(err error) (*memory.Column, error) {
		for _, b := range p.Buffers {
			b.Release()
		}
		for _, c := range p.Children {
			c.Release()
		}
		return nil, err
	}
	if size, is := memory.FixedSize(d.DataType()); is {
		offsets, err := memory.EvenOffsets(a.bounded(), p.Offset+p.Len, size)
		if err != nil {
			return fail(err)
		}
		p.Buffers = slices.Insert(p.Buffers, 1, offsets)
	}
	for i, child := range d.Children() {
		c, err := a.columnOf(child)
		if err != nil {
			return fail(fmt.Errorf("child %d of %s: %w", i, p.Type, err))
		}
		p.Children = append(p.Children, c)
	}
	if layout == memory.LayoutDictionary {
		dict, err := a.columnOf(d.Dictionary())
		if err != nil {
			return fail(fmt.Errorf("dictionary of %s: %w", p.Type, err))
		}
		p.Dictionary = dict
	}
	return memory.NewColumn(p)
}

// bounded is what columns take memory from by numbers in the file: views, say, of which
// many may show the same bytes.
func (a *arena) bounded() memory.Allocator { return memory.NewLimited(a.from, a.most) }

func (a *arena) buffer(b *arrowmem.Buffer) *memory.Buffer {
	if b == nil {
		return nil
	}
	root := b
	for root.Parent() != nil {
		root = root.Parent()
	}
	return a.hold(root.Buf(), b.Bytes())
}

// validText checks that strings are UTF-8, also inside of nested columns.
func validText(c *memory.Column) error {
	if c.Len() > 0 {
		switch c.Type().ID() {
		case arrow.STRING:
			if err := checkText(c, memory.Offsets[int32](c)); err != nil {
				return err
			}
		case arrow.LARGE_STRING:
			if err := checkText(c, memory.Offsets[int64](c)); err != nil {
				return err
			}
		}
	}
	for i := range c.NumChildren() {
		if err := validText(c.Child(i)); err != nil {
			return err
		}
	}
	if c.Dictionary() != nil {
		return validText(c.Dictionary())
	}
	return nil
}

// checkText looks at all bytes at once, then at where the values begin; only
// when that fails it goes row by row, to name the first that is wrong and is
// not null.
func checkText[T int32 | int64](c *memory.Column, offsets []T) error {
	var bytes []byte
	if c.Buffer(2) != nil {
		bytes = c.Buffer(2).Bytes()
	}
	whole := utf8.Valid(bytes[offsets[0]:offsets[len(offsets)-1]])
	for i := 0; whole && i < len(offsets)-1; i++ {
		whole = int(offsets[i]) == len(bytes) || utf8.RuneStart(bytes[offsets[i]])
	}
	if whole {
		return nil
	}
	for i := int64(0); i < c.Len(); i++ {
		if text := bytes[offsets[i]:offsets[i+1]]; !c.IsNull(i) && !utf8.Valid(text) {
			return fmt.Errorf("%w: row %d: %.40q is not UTF-8", ErrFormat, i, text)
		}
	}
	return nil
}

// batchOf makes a batch of the columns of a record that the schema names.
func batchOf(a *arena, schema *arrow.Schema, rec arrow.RecordBatch) (*table.Batch, error) {
	columns := make([]*memory.Column, 0, schema.NumFields())
	fail := func(err error) (*table.Batch, error) {
		for _, c := range columns {
			c.Release()
		}
		return nil, err
	}
	for _, f := range schema.Fields() {
		at := rec.Schema().FieldIndices(f.Name)
		if len(at) != 1 {
			return fail(fmt.Errorf("%w: column %q is not there once, but %d times", device.ErrMismatch, f.Name, len(at)))
		}
		c, err := a.column(rec.Column(at[0]).Data())
		if err != nil {
			return fail(fmt.Errorf("column %q: %w", f.Name, err))
		}
		if c, err = wideColumn(a.from, c, f.Type); err != nil {
			return fail(fmt.Errorf("column %q: %w", f.Name, err))
		}
		columns = append(columns, c)
	}
	return table.NewBatch(schema, rec.NumRows(), columns)
}
