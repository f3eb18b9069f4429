package storage

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
)

// denseRecord is a record whose null lists have no items: arrow-go's writer
// refuses others, which lists of a fixed size always are. The caller releases
// it.
func denseRecord(rec arrow.RecordBatch, mem arrowmem.Allocator) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, 0, rec.NumCols())
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, c := range rec.Columns() {
		dense, err := denseLists(c, mem)
		if err != nil {
			return nil, err
		}
		columns = append(columns, dense)
	}
	return array.NewRecordBatch(rec.Schema(), columns, rec.NumRows()), nil
}

// denseLists is the array itself, or a copy of a list's items without those of
// nulls. The caller releases it.
func denseLists(a arrow.Array, mem arrowmem.Allocator) (arrow.Array, error) {
	list, is := a.(array.ListLike)
	if !is || a.DataType().ID() != arrow.LIST && a.DataType().ID() != arrow.LARGE_LIST {
		a.Retain()
		return a, nil
	}
	whole, err := denseLists(list.ListValues(), mem)
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	if whole == list.ListValues() && !itemsOfNulls(list) {
		a.Retain()
		return a, nil
	}
	var parts []arrow.Array
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	add := func(from, to int64) {
		if from < to {
			parts = append(parts, array.NewSlice(whole, from, to))
		}
	}
	starts, from, to := make([]int64, 1, a.Len()+1), int64(0), int64(0) // from, to: items that are kept and not yet in parts
	for i := range a.Len() {
		n := int64(0)
		if a.IsValid(i) {
			first, end := list.ValueOffsets(i)
			if first != to {
				add(from, to)
				from = first
			}
			to, n = end, end-first
		}
		starts = append(starts, starts[i]+n)
	}
	add(from, to)
	if len(parts) == 0 {
		parts = append(parts, array.NewSlice(whole, 0, 0))
	}
	items, err := array.Concatenate(parts, mem)
	if err != nil {
		return nil, err
	}
	defer items.Release()
	offsets := arrow.Int64Traits.CastToBytes(starts)
	if a.DataType().ID() == arrow.LIST {
		narrow := make([]int32, len(starts)) // they go no further than those of a
		for i, at := range starts {
			narrow[i] = int32(at)
		}
		offsets = arrow.Int32Traits.CastToBytes(narrow)
	}
	valid := make([]byte, (a.Len()+7)/8)
	for i := range a.Len() {
		if a.IsValid(i) {
			valid[i/8] |= 1 << (i % 8)
		}
	}
	d := array.NewData(a.DataType(), a.Len(), []*arrowmem.Buffer{arrowmem.NewBufferBytes(valid), arrowmem.NewBufferBytes(offsets)}, []arrow.ArrayData{items.Data()}, a.NullN(), 0)
	defer d.Release()
	return array.MakeFromData(d), nil
}

// itemsOfNulls reports whether a null list has items.
func itemsOfNulls(a array.ListLike) bool {
	for i := 0; a.NullN() > 0 && i < a.Len(); i++ {
		if first, end := a.ValueOffsets(i); a.IsNull(i) && first != end {
			return true
		}
	}
	return false
}
