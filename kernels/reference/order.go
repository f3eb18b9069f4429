package reference

import (
	"context"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// addOrder puts the reference loops of order kernels into s.
func addOrder(s *kernels.Set) {
	s.SortIndices = kernels.Entry[kernels.SortIndicesFunc]{Func: sortIndices, Types: kernels.KeyTypes}
	s.TopK = kernels.Entry[kernels.TopKFunc]{Func: topK, Types: kernels.KeyTypes}
}

func sortIndices(ctx context.Context, s device.Stream, keys []kernels.SortKey) (*memory.Column, error) {
	return topK(ctx, s, keys, keys[0].Values.Len())
}

func topK(ctx context.Context, s device.Stream, keys []kernels.SortKey, k int64) (*memory.Column, error) {
	n := keys[0].Values.Len()
	values := make([][]kernels.Scalar, len(keys))
	for i, key := range keys {
		values[i] = kernels.Scalars(key.Values)
	}
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = int64(i)
	}
	sort.Slice(rows, func(i, j int) bool {
		for at, key := range keys {
			if c := compareBy(key, values[at][rows[i]], values[at][rows[j]]); c != 0 {
				return c < 0
			}
		}
		return rows[i] < rows[j] // equal keys keep their order
	})
	if err := device.Canceled(ctx, s.Device().Name(), ""); err != nil {
		return nil, err
	}
	out := make([]kernels.Scalar, k)
	for i, r := range rows[:k] {
		out[i] = kernels.Int(kernels.IndexType(n), r)
	}
	return kernels.FromScalars(hostMemory(s), kernels.IndexType(n), out)
}

// compareBy orders two values by the key's direction and placement of nulls.
func compareBy(k kernels.SortKey, a, b kernels.Scalar) int {
	c := kernels.CompareKeys(a, b) // values, then NaNs, then nulls
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
func isValue(v kernels.Scalar) bool {
	if !v.Valid() || v.Type().ID() == arrow.NULL {
		return false
	}
	return !kernels.FloatTypes.Has(v.Type().ID()) || v.Float64() == v.Float64()
}
