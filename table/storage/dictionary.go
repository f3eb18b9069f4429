package storage

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// oneDictionary gives a table in which all chunks of a dictionary column have
// one dictionary: t itself where there is nothing to do. It is good until
// release.
func oneDictionary(ctx context.Context, t *table.Table, path string) (_ *table.Table, release func(), err error) {
	var fields []int
	for i, f := range t.Schema().Fields() {
		if f.Type.ID() == arrow.DICTIONARY {
			fields = append(fields, i)
		}
	}
	if len(fields) == 0 || len(t.Chunks()) < 2 {
		return t, func() {}, nil
	}
	s, err := t.Backend().NewStream()
	if err != nil {
		return nil, nil, writeError(path, err)
	}
	defer func() {
		if e := s.Close(); err == nil && e != nil {
			release()
			err = writeError(path, e)
		}
	}()
	columns := make([][]*memory.Column, len(t.Chunks()))
	defer func() {
		for _, chunk := range columns {
			for _, c := range chunk {
				c.Release()
			}
		}
	}()
	for k, chunk := range t.Chunks() {
		for i := range chunk.NumColumns() {
			columns[k] = append(columns[k], chunk.Column(i).Retain())
		}
	}
	for _, i := range fields {
		if err := canceled(ctx, path); err != nil {
			return nil, nil, err
		}
		if err := unify(ctx, t, s, columns, i); err != nil {
			var own *Error
			if err = writeError(path, err); errors.As(err, &own) && own.Name == "" {
				own.Name = t.Schema().Field(i).Name
			}
			return nil, nil, err
		}
	}
	if err := s.Wait(ctx); err != nil {
		return nil, nil, writeError(path, err)
	}
	batches := make([]*table.Batch, 0, len(columns))
	for k, chunk := range t.Chunks() {
		taken := columns[k]
		columns[k] = nil // the batch takes them over
		b, err := table.NewBatch(t.Schema(), chunk.Len(), taken)
		if err != nil {
			for _, b := range batches {
				b.Release()
			}
			return nil, nil, writeError(path, err)
		}
		batches = append(batches, b)
	}
	out, err := table.NewTable(t.Backend(), t.Schema(), batches)
	if err != nil {
		return nil, nil, writeError(path, err)
	}
	return out, out.Release, nil
}

// unify gives column i of every chunk the dictionary of all, which its indices can
// number: a table sees to that.
func unify(ctx context.Context, t *table.Table, s device.Stream, columns [][]*memory.Column, i int) error {
	var parts []*memory.Column
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	for _, chunk := range columns {
		there, err := table.OnDevice(ctx, t.Backend(), s, chunk[i])
		if err != nil {
			return err
		}
		parts = append(parts, there)
	}
	whole, err := t.Backend().Concat(ctx, s, parts)
	if err != nil {
		return err
	}
	defer whole.Release()
	at := int64(0)
	for _, chunk := range columns {
		part, err := whole.Slice(at, chunk[i].Len())
		if err != nil {
			return err
		}
		at += part.Len()
		chunk[i].Release()
		chunk[i] = part
	}
	return nil
}

// wideSchema is a schema with indices for its dictionaries that can number the
// values of several.
func wideSchema(s *arrow.Schema) *arrow.Schema {
	fields := s.Fields()
	for i, f := range fields {
		if t, ok := table.WideIndices(f.Type, f.Type); ok {
			fields[i].Type = t
		}
	}
	return arrow.NewSchema(fields, nil)
}

// wideColumn is a dictionary column on the host as one of a type with wider
// indices; others stay as they are. It takes the column over.
func wideColumn(from memory.Allocator, c *memory.Column, to arrow.DataType) (*memory.Column, error) {
	t, is := to.(*arrow.DictionaryType)
	if have, ok := c.Type().(*arrow.DictionaryType); !is || !ok || arrow.TypeEqual(t, have) || !arrow.TypeEqual(t.ValueType, have.ValueType) {
		return c, nil
	}
	defer c.Release()
	width := int64(memory.Width(t))
	indices, err := memory.New(from, c.Len()*width)
	if err != nil {
		return nil, err
	}
	if width == 4 {
		putIndices(memory.View[int32](indices), c)
	} else {
		putIndices(memory.View[int64](indices), c)
	}
	p := memory.Parts{Type: to, Len: c.Len(), Nulls: c.NullCount(), Place: memory.Host, Buffers: []*memory.Buffer{nil, indices}}
	if c.NullCount() != 0 {
		valid, err := memory.NewZeroed(from, memory.BitmapBytes(c.Len()))
		if err != nil {
			indices.Release()
			return nil, err
		}
		memory.Bitmap(valid.Bytes()).CopyFrom(0, c.Validity(), c.Offset(), c.Len())
		p.Buffers[0] = valid
	}
	p.Dictionary = c.Dictionary().Retain()
	return memory.NewColumn(p)
}

func putIndices[T int32 | int64](to []T, c *memory.Column) {
	for i := range to {
		if to[i] = 0; !c.IsNull(int64(i)) {
			to[i] = T(c.Index(int64(i)))
		}
	}
}
