package table

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// WithTypes is the table with the types of a schema of the same names, as a new reference,
// where that changes no value: a column of type null becomes nulls of any type, indices of a
// dictionary become wider. A table without rows takes any types. Else another type is an
// ErrMismatch that names the column.
func (t *Table) WithTypes(ctx context.Context, schema *arrow.Schema) (*Table, error) {
	if t.schema.NumFields() != schema.NumFields() {
		return nil, fmt.Errorf("%w: a table of %d columns as one of %d", device.ErrMismatch, t.schema.NumFields(), schema.NumFields())
	}
	same := true
	for i, f := range schema.Fields() {
		have := t.schema.Field(i)
		if have.Name != f.Name {
			return nil, fmt.Errorf("%w: column %d is %q, not %q", device.ErrMismatch, i, have.Name, f.Name)
		}
		if arrow.TypeEqual(have.Type, f.Type) {
			continue
		}
		same = false
		wide, ok := WideIndices(have.Type, f.Type)
		if t.rows > 0 && have.Type.ID() != arrow.NULL && (!ok || !arrow.TypeEqual(wide, f.Type)) {
			return nil, fmt.Errorf("%w: column %q is of type %s, not %s", device.ErrMismatch, f.Name, expr.TypeName(have.Type), expr.TypeName(f.Type))
		}
	}
	if same {
		return t.Retain(), nil
	}
	if t.rows == 0 {
		return NewTable(t.backend, schema, nil)
	}
	s, err := t.backend.NewStream()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var chunks []*Batch
	for _, b := range t.chunks {
		made, err := retyped(ctx, t.backend, s, b, schema)
		if err != nil {
			for _, c := range chunks {
				c.Release()
			}
			return nil, err
		}
		chunks = append(chunks, made)
	}
	if err := s.Wait(ctx); err != nil {
		for _, c := range chunks {
			c.Release()
		}
		return nil, err
	}
	return NewTable(t.backend, schema, chunks)
}

// retyped is a batch with the types of a schema.
func retyped(ctx context.Context, b *kernels.Backend, s device.Stream, batch *Batch, to *arrow.Schema) (*Batch, error) {
	columns := make([]*memory.Column, 0, len(batch.Columns()))
	for i, c := range batch.Columns() {
		f := to.Field(i)
		var made *memory.Column
		var err error
		switch {
		case arrow.TypeEqual(c.Type(), f.Type):
			made = c.Retain()
		case c.Type().ID() == arrow.NULL:
			made, err = nullsOn(ctx, b, s, f.Type, c.Len())
		default:
			made, err = widen(ctx, b, s, c, f.Type)
		}
		if err != nil {
			releaseColumns(columns)
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		columns = append(columns, made)
	}
	return NewBatch(to, batch.Len(), columns)
}

// nullsOn is nulls of a type where a backend works.
func nullsOn(ctx context.Context, b *kernels.Backend, s device.Stream, t arrow.DataType, n int64) (*memory.Column, error) {
	near := b.Device.Memory()
	if !near.Place().HostAccessible() {
		near = b.Device.Pinned()
	}
	c, err := nulls(near, t, n)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	return OnDevice(ctx, b, s, c)
}

// nulls is n nulls of a type in a memory that the host can write.
func nulls(a memory.Allocator, t arrow.DataType, n int64) (_ *memory.Column, err error) {
	p := memory.Parts{Type: t, Len: n, Nulls: n, Place: a.Place()}
	defer func() {
		if err != nil {
			for _, b := range p.Buffers {
				b.Release()
			}
			releaseColumns(p.Children)
		}
	}()
	add := func(bytes int64) {
		if err == nil {
			var b *memory.Buffer
			if b, err = memory.NewZeroed(a, bytes); err == nil {
				p.Buffers = append(p.Buffers, b)
			}
		}
	}
	child := func(t arrow.DataType, n int64) *memory.Column {
		if err != nil {
			return nil
		}
		var c *memory.Column
		c, err = nulls(a, t, n)
		return c
	}
	layout := memory.LayoutOf(t)
	if layout != memory.LayoutNull {
		add(memory.BitmapBytes(n))
	}
	switch layout {
	case memory.LayoutBits:
		add(memory.BitmapBytes(n))
	case memory.LayoutFixed, memory.LayoutDictionary:
		add(n * int64(memory.Width(t)))
	case memory.LayoutBinary, memory.LayoutList:
		add((n + 1) * 4)
	case memory.LayoutLargeBinary, memory.LayoutLargeList:
		add((n + 1) * 8)
	}
	switch layout {
	case memory.LayoutBinary, memory.LayoutLargeBinary:
		add(0)
	case memory.LayoutDictionary:
		p.Dictionary = child(t.(*arrow.DictionaryType).ValueType, 1) // so that index 0 is there
	case memory.LayoutList, memory.LayoutLargeList:
		if c := child(t.(arrow.ListLikeType).Elem(), 0); c != nil {
			p.Children = append(p.Children, c)
		}
	case memory.LayoutStruct:
		for _, f := range t.(*arrow.StructType).Fields() {
			if c := child(f.Type, n); c != nil {
				p.Children = append(p.Children, c)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	parts := p
	p.Buffers, p.Children = nil, nil // NewColumn takes them over
	return memory.NewColumn(parts)
}

// CommonSchema is the schema that the parts of one table have in common, given each part's own and
// its number of rows. All name the same columns in the same order, but a part without rows and
// columns, which has no say. A column's type is what the parts with rows have that is not
// null, with WideIndices of dictionaries; else the first one's without rows; else null. WithTypes gives
// a part these types. Columns of the result may have nulls. Where the parts have no schema in common
// texts has what each of them is to be blamed for, in words.
func CommonSchema(parts []*arrow.Schema, rows []int64) (_ *arrow.Schema, texts []string) {
	u := &union{parts, rows}
	first := slices.IndexFunc(parts, func(s *arrow.Schema) bool { return s.NumFields() > 0 })
	if first < 0 {
		return parts[0], nil
	}
	for i := range parts {
		if !u.takes(i) || u.names(i) == u.names(first) {
			continue
		}
		for k := range parts {
			texts = append(texts, u.names(k))
		}
		return nil, texts
	}
	fields := parts[first].Fields()
	for c := range fields {
		t, ok := u.columnType(c)
		if !ok {
			return nil, u.typesOf(c, fields[c].Name)
		}
		fields[c].Type, fields[c].Nullable = t, true
	}
	meta := parts[first].Metadata()
	return arrow.NewSchema(fields, &meta), nil
}

// union is schemas to be one, with the rows of each.
type union struct {
	schemas []*arrow.Schema
	rows    []int64
}

// takes reports whether a part has a say: one without rows and columns has none.
func (u *union) takes(i int) bool { return u.rows[i] > 0 || u.schemas[i].NumFields() > 0 }

// names says what columns a part has.
func (u *union) names(i int) string {
	var all []string
	for _, f := range u.schemas[i].Fields() {
		all = append(all, fmt.Sprintf("%q", f.Name))
	}
	return "its columns are " + strings.Join(all, ", ")
}

// typesOf says what type each part has for a column.
func (u *union) typesOf(c int, name string) (texts []string) {
	for i, s := range u.schemas {
		text := fmt.Sprintf("column %q has no type", name)
		if u.takes(i) {
			text = fmt.Sprintf("column %q is of type %s", name, expr.TypeName(s.Field(c).Type))
		}
		if u.rows[i] == 0 {
			text += ", without rows"
		}
		texts = append(texts, text)
	}
	return texts
}

// columnType is the type that a column has in common.
func (u *union) columnType(c int) (t arrow.DataType, ok bool) {
	for i, s := range u.schemas {
		if u.rows[i] == 0 || !u.takes(i) {
			continue
		}
		switch own := s.Field(c).Type; {
		case own.ID() == arrow.NULL || t != nil && arrow.TypeEqual(t, own):
		case t == nil:
			t = own
		default:
			wide, may := WideIndices(t, own)
			if !may {
				return nil, false
			}
			t = wide
		}
	}
	for i, s := range u.schemas {
		if t == nil && u.takes(i) && s.Field(c).Type.ID() != arrow.NULL {
			t = s.Field(c).Type
		}
	}
	if t == nil {
		t = arrow.Null
	}
	return t, true
}
