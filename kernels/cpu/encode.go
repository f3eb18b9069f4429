package cpu

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// encode is a column of plain values as a dictionary column of type t: the
// distinct values in order of first appearance. More of them than the index
// type can tell apart is an ErrValue that names the row.
func encode(ctx context.Context, s device.Stream, c *memory.Column, t *arrow.DictionaryType) (*memory.Column, error) {
	o := newOut(s, t, c.Len())
	err := o.nullsOf(c)
	if err == nil {
		err = o.values()
	}
	if err != nil {
		return o.column(err)
	}
	var first []int64
	switch memory.LayoutOf(c.Type()) {
	case memory.LayoutBits:
		first, err = distinct(ctx, o, t, func(i int64) bool { return c.Bits().Get(c.Offset() + i) })
	case memory.LayoutBinary:
		first, err = distinctText(ctx, o, t, textsOf[int32](c))
	case memory.LayoutLargeBinary:
		first, err = distinctText(ctx, o, t, textsOf[int64](c))
	default:
		switch memory.Width(c.Type()) { // bit patterns: both zeros, and NaNs, keep theirs
		case 1:
			first, err = distinctFixed[uint8](ctx, o, t, c)
		case 2:
			first, err = distinctFixed[uint16](ctx, o, t, c)
		case 4:
			first, err = distinctFixed[uint32](ctx, o, t, c)
		case 8:
			first, err = distinctFixed[uint64](ctx, o, t, c)
		default:
			first, err = distinctFixed[decimal](ctx, o, t, c)
		}
	}
	if err == nil {
		o.parts.Dictionary, err = pick(ctx, s, c, first)
	}
	return o.column(err)
}

func distinctFixed[T comparable](ctx context.Context, o *out, t *arrow.DictionaryType, c *memory.Column) ([]int64, error) {
	values := memory.Values[T](c)
	return distinct(ctx, o, t, func(i int64) T { return values[i] })
}

// distinct numbers the values that at gives, and returns the row that each was
// first seen in.
func distinct[T comparable](ctx context.Context, o *out, t *arrow.DictionaryType, at func(i int64) T) ([]int64, error) {
	seen := map[T]int64{}
	return numbered(ctx, o, t, func(i, next int64) int64 {
		k, have := seen[at(i)]
		if !have {
			k = next
			seen[at(i)] = k
		}
		return k
	})
}

func distinctText[T int32 | int64](ctx context.Context, o *out, t *arrow.DictionaryType, values texts[T]) ([]int64, error) {
	seen := map[string]int64{}
	return numbered(ctx, o, t, func(i, next int64) int64 {
		k, have := seen[string(values.at(i))]
		if !have {
			k = next
			seen[string(values.at(i))] = k
		}
		return k
	})
}

// numbered writes the index of every row: find gives that of row i, next where
// its value is new.
func numbered(ctx context.Context, o *out, t *arrow.DictionaryType, find func(i, next int64) int64) ([]int64, error) {
	var first []int64
	limit := indexLimit(t)
	valid := o.valid()
	for i := range o.parts.Len {
		if i%morsel == 0 {
			if err := device.Canceled(ctx, "cpu", ""); err != nil {
				return nil, err
			}
		}
		k := int64(0)
		if rowIn(valid, i) {
			next := int64(len(first))
			if k = find(i, next); k == next {
				if uint64(k) >= limit {
					return nil, fmt.Errorf("row %d: %w", i, badValue("more than %d distinct values in %s", limit, t))
				}
				first = append(first, i)
			}
		}
		switch memory.Width(t) {
		case 1:
			view[uint8](o, 1)[i] = uint8(k)
		case 2:
			view[uint16](o, 1)[i] = uint16(k)
		case 4:
			view[uint32](o, 1)[i] = uint32(k)
		default:
			view[uint64](o, 1)[i] = uint64(k)
		}
	}
	return first, nil
}

// indexLimit is how many values an index type can tell apart.
func indexLimit(t *arrow.DictionaryType) uint64 {
	switch t.IndexType.ID() {
	case arrow.INT8:
		return 1 << 7
	case arrow.UINT8:
		return 1 << 8
	case arrow.INT16:
		return 1 << 15
	case arrow.UINT16:
		return 1 << 16
	case arrow.INT32:
		return 1 << 31
	case arrow.UINT32:
		return 1 << 32
	default:
		return math.MaxInt64
	}
}

// pick gathers rows of c, none of them null: by way of a dictionary column that
// has c for its dictionary.
func pick(ctx context.Context, s device.Stream, c *memory.Column, rows []int64) (*memory.Column, error) {
	t := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int64, ValueType: c.Type()}
	o := newOut(s, t, int64(len(rows)))
	err := o.values()
	if err == nil {
		copy(view[int64](o, 1), rows)
		o.parts.Dictionary = c.Retain()
	}
	by, err := o.column(err)
	if err != nil {
		return nil, err
	}
	defer by.Release()
	return decode(ctx, s, by)
}
