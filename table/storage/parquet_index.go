package storage

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table/storage/internal/filemeta"
)

// rowSpan is rows [from, to) of a row group.
type rowSpan struct{ from, to int64 }

// largestIndex is the most that is read of the page index of a column chunk.
const largestIndex = 4 << 20

// unpassable are the rows of a row group that the page index of a column rules out for a
// condition on it, and what it states of each page; none where there is no index, or it
// contradicts itself.
func (f *parquetFile) unpassable(ctx context.Context, g, field int, bound *expr.Bound) (dead []rowSpan, pages []claim) {
	defer func() {
		if recover() != nil { // arrow-go's way to say that an index is damaged
			dead, pages = nil, nil
		}
	}()
	if len(f.leaves[field]) != 1 {
		return nil, nil
	}
	leaf, rows := f.leaves[field][0], f.meta.RowGroup(g).NumRows()
	column := f.meta.Schema.Column(leaf)
	chunk, err := f.meta.RowGroup(g).ColumnChunk(leaf)
	if err != nil || column.MaxRepetitionLevel() != 0 {
		return nil, nil
	}
	offsets, columns := f.indexBytes(ctx, chunk.GetOffsetIndexLocation()), f.indexBytes(ctx, chunk.GetColumnIndexLocation())
	if offsets == nil || columns == nil {
		return nil, nil
	}
	places := metadata.NewOffsetIndex(offsets, nil, nil).GetPageLocations()
	index := metadata.NewColumnIndex(column, columns, nil, nil)
	empty := index.GetNullPages()
	if len(places) != len(empty) {
		return nil, nil
	}
	name := f.schema.Field(field).Name
	for i := range places {
		from, to := places[i].FirstRowIndex, rows
		if i+1 < len(places) {
			to = places[i+1].FirstRowIndex
		}
		if i == 0 && from != 0 || from >= to || to > rows {
			return nil, nil
		}
		r := pageRange(index, i, column, f.schema.Field(field).Type, to-from)
		used := false
		may := bound.MayBeTrue(func(column string) (expr.Range, bool) {
			used = true
			return r, column == name
		})
		if used {
			pages = append(pages, claim{rowSpan{from, to}, fmt.Sprintf("%s, page %d", rowGroup(g), i), r})
		}
		if may {
			continue
		}
		if last := len(dead) - 1; last >= 0 && dead[last].to == from {
			dead[last].to = to
		} else {
			dead = append(dead, rowSpan{from, to})
		}
	}
	return dead, pages
}

// indexBytes are those of an index, nil where it is not there.
func (f *parquetFile) indexBytes(ctx context.Context, at *metadata.IndexLocation) []byte {
	if at == nil || at.Offset < 4 || at.Length <= 0 || at.Length > largestIndex || at.Offset > f.size-int64(at.Length) {
		return nil
	}
	b := make([]byte, at.Length)
	if _, err := (&until{ctx: ctx, in: f.input}).ReadAt(b, at.Offset); err != nil || filemeta.CheckThrift(b) != nil {
		return nil
	}
	return b
}

// pageRange is what an index states of page i.
func pageRange(index metadata.ColumnIndex, i int, leaf *schema.Column, t arrow.DataType, rows int64) expr.Range {
	r := expr.Range{Nulls: -1, Rows: rows}
	if index.IsSetNullCounts() {
		if n := index.GetNullCounts()[i]; n >= 0 && n <= rows {
			r.Nulls = n
		}
	}
	if index.GetNullPages()[i] {
		return r
	}
	var ok bool
	low, high := r.Min, r.Max
	switch x := index.(type) {
	case *metadata.TypedColumnIndex[int32]:
		low, high, ok = integerBounds(int64(x.MinValues()[i]), int64(x.MaxValues()[i]), leaf, t)
	case *metadata.TypedColumnIndex[int64]:
		low, high, ok = integerBounds(x.MinValues()[i], x.MaxValues()[i], leaf, t)
	case *metadata.TypedColumnIndex[float32]:
		low, high, ok = floatBounds(float64(x.MinValues()[i]), float64(x.MaxValues()[i]), t, arrow.FLOAT32)
	case *metadata.TypedColumnIndex[float64]:
		low, high, ok = floatBounds(x.MinValues()[i], x.MaxValues()[i], t, arrow.FLOAT64)
	case *metadata.TypedColumnIndex[parquet.ByteArray]:
		if order := leaf.ColumnOrder(); order != nil && order.TYPE_ORDER != nil { // else bytes may have been compared as signed ones
			low, high, ok = textBounds(x.MinValues()[i], x.MaxValues()[i], t)
		}
	}
	if ok {
		r.Min, r.Max = low, high
	}
	return r
}
