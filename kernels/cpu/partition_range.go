package cpu

import (
	"bytes"
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// rangeParts numbers for each key the bounds that it is not less than.
func rangeParts(ctx context.Context, s device.Stream, key, bounds *memory.Column, parts []uint32) error {
	last := uint32(bounds.Len()) // of nulls: they come after all bounds
	valid := int(bounds.Len() - bounds.NullCount())
	switch layout := memory.LayoutOf(key.Type()); {
	case layout == memory.LayoutNull:
		return numberRows(ctx, key, parts, last, nil)
	case layout == memory.LayoutDictionary:
		return dictionaryParts(ctx, s, key, bounds, parts)
	case layout == memory.LayoutBinary:
		return numberRows(ctx, key, parts, last, textSearch[int32](key, bounds, valid))
	case layout == memory.LayoutLargeBinary:
		return numberRows(ctx, key, parts, last, textSearch[int64](key, bounds, valid))
	case key.Type().ID() == arrow.DECIMAL128:
		keys, limits := memory.Values[[2]uint64](key), memory.Values[[2]uint64](bounds)
		return numberRows(ctx, key, parts, last, func(i int64) uint32 {
			return search(valid, func(b int) bool { return lessDecimal(keys[i], limits[b]) })
		})
	}
	of, to := ranker(key), ranker(bounds)
	limits := make([]uint64, valid)
	for b := range limits {
		limits[b] = to(int64(b))
	}
	return numberRows(ctx, key, parts, last, func(i int64) uint32 {
		k := of(i)
		return search(valid, func(b int) bool { return k < limits[b] })
	})
}

// numberRows gives every row that is not null what f says, the others null.
func numberRows(ctx context.Context, key *memory.Column, parts []uint32, null uint32, f func(i int64) uint32) error {
	return parallel(ctx, int64(len(parts)), func(_ int, m span) error {
		for i := m.from; i < m.to; i++ {
			if parts[i] = null; f != nil && !key.IsNull(i) {
				parts[i] = f(i)
			}
		}
		return nil
	})
}

// search is the number of bounds b < n for which less(b), the key before bound
// b, is false; they come first.
func search(n int, less func(b int) bool) uint32 {
	lo, hi := 0, n
	for lo < hi {
		if mid := (lo + hi) / 2; less(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return uint32(lo)
}

func textSearch[T int32 | int64](key, bounds *memory.Column, valid int) func(int64) uint32 {
	a, b := memory.Offsets[T](key), memory.Offsets[T](bounds)
	x, y := stringBytes(key), stringBytes(bounds)
	return func(i int64) uint32 {
		k := x[a[i]:a[i+1]]
		return search(valid, func(j int) bool { return bytes.Compare(k, y[b[j]:b[j+1]]) < 0 })
	}
}

func lessDecimal(a, b [2]uint64) bool {
	if a[1] != b[1] {
		return int64(a[1]) < int64(b[1])
	}
	return a[0] < b[0]
}

// ranker gives unsigned integers in the order of a column's values as keys.
func ranker(c *memory.Column) func(i int64) uint64 {
	const sign = 1 << 63
	switch c.Type().ID() {
	case arrow.BOOL:
		v, at := c.Bits(), c.Offset()
		return func(i int64) uint64 { return v.Word(at+i, 1) }
	case arrow.FLOAT32:
		v := memory.Values[float32](c)
		return func(i int64) uint64 { return rankFloat(float64(v[i])) }
	case arrow.FLOAT64:
		v := memory.Values[float64](c)
		return func(i int64) uint64 { return rankFloat(v[i]) }
	case arrow.INT8:
		v := memory.Values[int8](c)
		return func(i int64) uint64 { return uint64(v[i]) ^ sign }
	case arrow.INT16:
		v := memory.Values[int16](c)
		return func(i int64) uint64 { return uint64(v[i]) ^ sign }
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		v := memory.Values[int32](c)
		return func(i int64) uint64 { return uint64(v[i]) ^ sign }
	case arrow.UINT8:
		v := memory.Values[uint8](c)
		return func(i int64) uint64 { return uint64(v[i]) }
	case arrow.UINT16:
		v := memory.Values[uint16](c)
		return func(i int64) uint64 { return uint64(v[i]) }
	case arrow.UINT32:
		v := memory.Values[uint32](c)
		return func(i int64) uint64 { return uint64(v[i]) }
	case arrow.UINT64:
		v := memory.Values[uint64](c)
		return func(i int64) uint64 { return v[i] }
	default:
		v := memory.Values[int64](c)
		return func(i int64) uint64 { return uint64(v[i]) ^ sign }
	}
}

// rankFloat orders floats as keys: -0 is 0, a NaN comes last.
func rankFloat(v float64) uint64 {
	if v != v {
		return math.MaxUint64
	}
	b := math.Float64bits(v + 0) // -0 + 0 is 0
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// dictionaryParts looks at each entry of the dictionary once.
func dictionaryParts(ctx context.Context, s device.Stream, key, bounds *memory.Column, parts []uint32) error {
	plain, err := kernels.FromScalars(s.Device().Memory(), bounds.Type().(*arrow.DictionaryType).ValueType, kernels.Scalars(bounds))
	if err != nil {
		return err
	}
	defer plain.Release()
	entries := make([]uint32, key.Dictionary().Len())
	if err := rangeParts(ctx, s, key.Dictionary(), plain, entries); err != nil {
		return err
	}
	return numberRows(ctx, key, parts, uint32(bounds.Len()), func(i int64) uint32 { return entries[key.Index(i)] })
}
