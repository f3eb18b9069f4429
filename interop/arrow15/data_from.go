package arrow15

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	newmem "github.com/apache/arrow-go/v18/arrow/memory"
	old "github.com/apache/arrow/go/v15/arrow"
	oldmem "github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/volley-go/volley/memory"
)

// FromArray makes a v18 array over the buffers of a v15 array. The caller
// releases both.
func FromArray(a old.Array) (result arrow.Array, err error) {
	defer recovered(&err)
	if a == nil {
		return nil, fmt.Errorf("%w: no array given", memory.ErrMismatch)
	}
	t, err := FromType(a.DataType())
	if err != nil {
		return nil, err
	}
	d := fromData(t, a.Data())
	defer d.Release()
	return array.MakeFromData(d), nil
}

// fromData describes the buffers of d, and those of its children and
// dictionary, as data of type t.
func fromData(t arrow.DataType, d old.ArrayData) *array.Data {
	buffers := make([]*newmem.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			b.Retain()
			buffers[i] = newmem.NewBufferWithAllocator(b.Bytes(), fromBuffer{b})
			defer buffers[i].Release()
		}
	}
	if t, ok := t.(*arrow.DictionaryType); ok {
		dict := fromData(t.ValueType, d.Dictionary())
		defer dict.Release()
		return array.NewDataWithDictionary(t, d.Len(), buffers, d.NullN(), d.Offset(), dict)
	}
	var children []arrow.ArrayData
	if nested, ok := t.(arrow.NestedType); ok {
		fields := nested.Fields()
		for i, child := range d.Children() {
			c := fromData(fields[i].Type, child)
			defer c.Release()
			children = append(children, c)
		}
	}
	return array.NewData(t, d.Len(), buffers, children, d.NullN(), d.Offset())
}

// fromBuffer gives a v15 buffer back when v18 frees what it was handed.
type fromBuffer struct{ buffer *oldmem.Buffer }

func (fromBuffer) Allocate(n int) []byte             { return make([]byte, n) }
func (fromBuffer) Reallocate(n int, b []byte) []byte { return append(make([]byte, 0, n), b...)[:n] }
func (f fromBuffer) Free([]byte)                     { f.buffer.Release() }

// FromRecord makes a v18 record batch over the buffers of a v15 record. The
// caller releases both.
func FromRecord(r old.Record) (result arrow.RecordBatch, err error) {
	defer recovered(&err)
	if r == nil {
		return nil, fmt.Errorf("%w: no record given", memory.ErrMismatch)
	}
	schema, err := FromSchema(r.Schema())
	if err != nil {
		return nil, err
	}
	var columns []arrow.Array
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, column := range r.Columns() {
		c, err := FromArray(column)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return array.NewRecordBatch(schema, columns, r.NumRows()), nil
}
