package arrow15

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	newmem "github.com/apache/arrow-go/v18/arrow/memory"
	old "github.com/apache/arrow/go/v15/arrow"
	oldarray "github.com/apache/arrow/go/v15/arrow/array"
	oldmem "github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/volley-go/volley/memory"
)

// ToArray makes a v15 array over the buffers of a v18 array. The caller
// releases both.
func ToArray(a arrow.Array) (result old.Array, err error) {
	defer recovered(&err)
	if a == nil {
		return nil, fmt.Errorf("%w: no array given", memory.ErrMismatch)
	}
	t, err := ToType(a.DataType())
	if err != nil {
		return nil, err
	}
	d := toData(t, a.Data())
	defer d.Release()
	return oldarray.MakeFromData(d), nil
}

// toData describes the buffers of d, and those of its children and
// dictionary, as data of type t.
func toData(t old.DataType, d arrow.ArrayData) *oldarray.Data {
	buffers := make([]*oldmem.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			b.Retain()
			buffers[i] = oldmem.NewBufferWithAllocator(b.Bytes(), toBuffer{b})
			defer buffers[i].Release()
		}
	}
	if t, ok := t.(*old.DictionaryType); ok {
		dict := toData(t.ValueType, d.Dictionary())
		defer dict.Release()
		return oldarray.NewDataWithDictionary(t, d.Len(), buffers, d.NullN(), d.Offset(), dict)
	}
	var children []old.ArrayData
	if nested, ok := t.(old.NestedType); ok {
		fields := nested.Fields()
		for i, child := range d.Children() {
			c := toData(fields[i].Type, child)
			defer c.Release()
			children = append(children, c)
		}
	}
	return oldarray.NewData(t, d.Len(), buffers, children, d.NullN(), d.Offset())
}

// toBuffer gives a v18 buffer back when v15 frees what it was handed.
type toBuffer struct{ buffer *newmem.Buffer }

func (toBuffer) Allocate(n int) []byte             { return make([]byte, n) }
func (toBuffer) Reallocate(n int, b []byte) []byte { return append(make([]byte, 0, n), b...)[:n] }
func (f toBuffer) Free([]byte)                     { f.buffer.Release() }

// ToRecord makes a v15 record over the buffers of a v18 record batch. The
// caller releases both. A batch with metadata of its own, which v15 has no
// place for, is a memory.ErrUnsupported.
func ToRecord(r arrow.RecordBatch) (result old.Record, err error) {
	defer recovered(&err)
	if r == nil {
		return nil, fmt.Errorf("%w: no record given", memory.ErrMismatch)
	}
	if m, ok := r.(arrow.RecordBatchWithMetadata); ok && m.Metadata().Len() > 0 {
		return nil, fmt.Errorf("%w: a record batch with metadata of its own (%s)", memory.ErrUnsupported, m.Metadata())
	}
	schema, err := ToSchema(r.Schema())
	if err != nil {
		return nil, err
	}
	var columns []old.Array
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, column := range r.Columns() {
		c, err := ToArray(column)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return oldarray.NewRecord(schema, columns, r.NumRows()), nil
}
