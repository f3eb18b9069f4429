package kernels

import (
	"context"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// referenceOrder puts the reference loops of order kernels into s.
func referenceOrder(s *Set) {
	s.SortIndices = Entry[SortIndicesFunc]{referenceSortIndices, KeyTypes}
	s.TopK = Entry[TopKFunc]{referenceTopK, KeyTypes}
}

func referenceSortIndices(ctx context.Context, s device.Stream, keys []SortKey) (*memory.Column, error) {
	return referenceTopK(ctx, s, keys, keys[0].Values.Len())
}

func referenceTopK(ctx context.Context, s device.Stream, keys []SortKey, k int64) (*memory.Column, error) {
	n := keys[0].Values.Len()
	values := make([][]Scalar, len(keys))
	for i, key := range keys {
		values[i] = Scalars(key.Values)
	}
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = int64(i)
	}
	sort.Slice(rows, func(i, j int) bool {
		for at, key := range keys {
			if c := key.compare(values[at][rows[i]], values[at][rows[j]]); c != 0 {
				return c < 0
			}
		}
		return rows[i] < rows[j] // equal keys keep their order
	})
	if err := device.Canceled(ctx, s.Device().Name(), ""); err != nil {
		return nil, err
	}
	out := make([]Scalar, k)
	for i, r := range rows[:k] {
		out[i] = Scalar{typ: IndexType(n), valid: true, bits: uint64(r)}
	}
	return FromScalars(allocator(s), IndexType(n), out)
}

// compare orders two values by the key's direction and placement of nulls.
func (k SortKey) compare(a, b Scalar) int {
	c := CompareKeys(a, b) // values, then NaNs, then nulls
	if aValue, bValue := isValue(a), isValue(b); !aValue || !bValue {
		if k.NullsFirst {
			return -c
		}
		return c
	}
	if k.Descending {
		return -c
	}
	return c
}

// isValue is false for nulls and NaNs, whose place is that of NullsFirst.
func isValue(v Scalar) bool {
	if !v.valid || v.typ.ID() == arrow.NULL {
		return false
	}
	return !FloatTypes.Has(v.typ.ID()) || v.Float64() == v.Float64()
}
