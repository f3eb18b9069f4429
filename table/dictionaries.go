package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// WideIndices is the type that dictionaries of types a and b have where rows of
// both are united: their indices have 32 bits at least, since each may have as
// many values as its own indices number. ok is false where they are no
// dictionaries of the same values.
func WideIndices(a, b arrow.DataType) (_ *arrow.DictionaryType, ok bool) {
	x, isX := a.(*arrow.DictionaryType)
	y, isY := b.(*arrow.DictionaryType)
	if !isX || !isY || !arrow.TypeEqual(x.ValueType, y.ValueType) || x.Ordered != y.Ordered {
		return nil, false
	}
	index := arrow.DataType(arrow.PrimitiveTypes.Int32)
	switch {
	case arrow.TypeEqual(x.IndexType, y.IndexType) && indexBits(x) >= 32:
		index = x.IndexType
	case !inInt32(x) || !inInt32(y):
		index = arrow.PrimitiveTypes.Int64
	}
	return &arrow.DictionaryType{IndexType: index, ValueType: x.ValueType, Ordered: x.Ordered}, true
}

func indexBits(t *arrow.DictionaryType) int { return t.IndexType.(arrow.FixedWidthDataType).BitWidth() }

// inInt32 reports whether all indices of a type are int32.
func inInt32(t *arrow.DictionaryType) bool {
	return indexBits(t) < 32 || t.IndexType.ID() == arrow.INT32
}

// wide is a schema with WideIndices in place of the types of its dictionaries.
func wide(s *arrow.Schema) *arrow.Schema {
	fields := s.Fields()
	changed := false
	for i, f := range fields {
		if t, ok := WideIndices(f.Type, f.Type); ok && !arrow.TypeEqual(t, f.Type) {
			fields[i].Type, changed = t, true
		}
	}
	if !changed {
		return s
	}
	meta := s.Metadata()
	return arrow.NewSchema(fields, &meta)
}

// widen is a dictionary column with indices of another, wider type.
func widen(ctx context.Context, b *kernels.Backend, s device.Stream, c *memory.Column, to arrow.DataType) (*memory.Column, error) {
	if arrow.TypeEqual(c.Type(), to) {
		return c.Retain(), nil
	}
	c, err := OnDevice(ctx, b, s, c)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	indices, err := indicesOf(c)
	if err != nil {
		return nil, err
	}
	defer indices.Release()
	cast, err := b.Cast(ctx, s, indices, to.(*arrow.DictionaryType).IndexType, kernels.CastOptions{})
	if err != nil {
		return nil, err
	}
	defer cast.Release()
	return memory.NewColumn(memory.Parts{Type: to, Len: cast.Len(), Offset: cast.Offset(), Nulls: cast.NullCount(), Place: cast.Place(),
		Buffers: []*memory.Buffer{cast.Buffer(0).Retain(), cast.Buffer(1).Retain()}, Dictionary: c.Dictionary().Retain()})
}

// indicesOf are the indices of a dictionary column, as a column of numbers.
func indicesOf(c *memory.Column) (*memory.Column, error) {
	return memory.NewColumn(memory.Parts{Type: c.Type().(*arrow.DictionaryType).IndexType, Len: c.Len(), Offset: c.Offset(), Nulls: c.NullCount(),
		Place: c.Place(), Buffers: []*memory.Buffer{c.Buffer(0).Retain(), c.Buffer(1).Retain()}})
}

// decoded is a column with the values of its dictionary in their place, also on devices
// that cannot cast texts; a column without a dictionary is itself.
func decoded(ctx context.Context, b *kernels.Backend, s device.Stream, c *memory.Column) (*memory.Column, error) {
	if c.Dictionary() == nil {
		return c.Retain(), nil
	}
	indices, err := indicesOf(c)
	if err != nil {
		return nil, err
	}
	defer indices.Release()
	return b.Take(ctx, s, c.Dictionary(), indices, kernels.TakeOptions{})
}

// OnDevice is a column where a backend works: itself, or a copy, which is there when it
// returns. The caller releases it.
func OnDevice(ctx context.Context, b *kernels.Backend, s device.Stream, c *memory.Column) (*memory.Column, error) {
	if c.Place() == b.Device.Place() || c.Place().HostAccessible() && b.Device.Place() == memory.Host {
		return c.Retain(), nil
	}
	m := device.NewMover(s, b.Device.Memory())
	defer m.Release()
	there, err := m.Column(c)
	if err != nil {
		return nil, err
	}
	if err := s.Wait(ctx); err != nil {
		there.Release()
		return nil, err
	}
	return there, nil
}

// widenBatch is a batch with its dictionaries as a schema has them.
func widenBatch(ctx context.Context, b *kernels.Backend, s device.Stream, batch *Batch, to *arrow.Schema) (*Batch, error) {
	columns := make([]*memory.Column, 0, len(batch.Columns()))
	for i, c := range batch.Columns() {
		made, err := c.Retain(), error(nil)
		if f := to.Field(i); f.Type.ID() == arrow.DICTIONARY {
			c.Release()
			made, err = widen(ctx, b, s, c, f.Type)
			if err != nil {
				releaseColumns(columns)
				return nil, fmt.Errorf("column %q: %w", f.Name, err)
			}
		}
		columns = append(columns, made)
	}
	return NewBatch(to, batch.Len(), columns)
}

// settle widens the indices of a dictionary column whose chunks have dictionaries
// that their type could not number once they are one.
func (t *Table) settle() error {
	fields := t.schema.Fields()
	changed := false
	for i, f := range fields {
		d, is := f.Type.(*arrow.DictionaryType)
		if !is || indexBits(d) >= 32 || len(t.chunks) < 2 {
			continue
		}
		fits, err := t.numbered(i, d)
		if err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
		if !fits {
			to, _ := WideIndices(d, d)
			fields[i].Type, changed = to, true
		}
	}
	if !changed {
		return nil
	}
	s, err := t.backend.NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	meta := t.schema.Metadata()
	schema := arrow.NewSchema(fields, &meta)
	ctx := context.Background()
	for k, c := range t.chunks {
		made, err := widenBatch(ctx, t.backend, s, c, schema)
		if err != nil {
			return err
		}
		c.Release()
		t.chunks[k] = made
	}
	t.schema = schema
	return s.Wait(ctx)
}

// numbered reports whether the indices of a column of dictionaries can number the
// values of all its chunks.
func (t *Table) numbered(i int, d *arrow.DictionaryType) (bool, error) {
	bits := indexBits(d)
	if kernels.SignedTypes.Has(d.IndexType.ID()) {
		bits--
	}
	limit, total := 1<<bits-1, int64(0)
	var dicts []*memory.Column
	for _, c := range t.chunks {
		one := c.Columns()[i].Dictionary()
		if len(dicts) == 0 || !sameValues(dicts[len(dicts)-1], one) {
			dicts, total = append(dicts, one), total+one.Len()
		}
	}
	if total <= int64(limit) || len(dicts) < 2 {
		return true, nil
	}
	seen := map[string]struct{}{}
	for _, one := range dicts {
		if err := t.entries(one, seen); err != nil {
			return false, err
		}
		if len(seen) > limit {
			return false, nil
		}
	}
	return true, nil
}

// sameValues reports whether two dictionaries on the host have the same bytes.
func sameValues(a, b *memory.Column) bool {
	if a == b {
		return true
	}
	if !a.Place().HostAccessible() || !b.Place().HostAccessible() || a.Len() != b.Len() || a.Offset() != b.Offset() || a.NumChildren() > 0 {
		return false
	}
	for i := range 3 {
		x, y := a.Buffer(i), b.Buffer(i)
		if (x == nil) != (y == nil) || x != nil && !bytes.Equal(x.Bytes(), y.Bytes()) {
			return false
		}
	}
	return true
}

// entries adds the values of a dictionary, as keys, to those seen.
func (t *Table) entries(d *memory.Column, seen map[string]struct{}) error {
	if !d.Place().HostAccessible() {
		s, err := t.backend.NewStream()
		if err != nil {
			return err
		}
		defer s.Close()
		m := device.NewMover(s, memory.Heap)
		defer m.Release()
		here, err := m.Column(d)
		if err != nil {
			return err
		}
		defer here.Release()
		if err := s.Wait(context.Background()); err != nil {
			return err
		}
		d = here
	}
	for i := range d.Len() {
		v := kernels.ScalarAt(d, i)
		key := "n"
		switch id := d.Type().ID(); {
		case !v.Valid():
		case kernels.BinaryTypes.Has(id):
			key = "v" + v.Text()
		case kernels.DecimalTypes.Has(id):
			n := v.Decimal()
			key = "v" + string(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, n.LowBits()), uint64(n.HighBits())))
		default:
			key = "v" + string(binary.LittleEndian.AppendUint64(nil, v.Uint64()))
		}
		seen[key] = struct{}{}
	}
	return nil
}
