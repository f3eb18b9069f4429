package columnar

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// key is what the operations here sort by.
type key interface{ uint32 | int64 }

// spread are n integers over all of the type.
func spread[K key](n int64) []K {
	r, v := random(0), make([]K, n)
	for i := range v {
		v[i] = K(r.Uint64())
	}
	return v
}

// sorted are the rows in the stable order of the keys, by counting sorts of 16
// bits each from the lowest: a comparison sort would take longer than all else
// at the sizes that devices are measured with.
func sorted[K key](k []K) []int32 {
	rows, next := make([]int32, len(k)), make([]int32, len(k))
	for i := range rows {
		rows[i] = int32(i)
	}
	const digits = 1 << 16
	bits := 8 * int(unsafe.Sizeof(K(0)))
	for shift := 0; shift < bits; shift += 16 {
		digit := func(row int32) int {
			d := int(uint64(k[row])>>shift) & (digits - 1)
			if signed := K(0)-1 < 0; signed && shift+16 == bits {
				d ^= digits / 2 // negative numbers first
			}
			return d
		}
		var at [digits + 1]int32
		for _, row := range rows {
			at[digit(row)+1]++
		}
		for d := range digits {
			at[d+1] += at[d]
		}
		for _, row := range rows {
			d := digit(row)
			next[at[d]] = row
			at[d]++
		}
		rows, next = next, rows
	}
	return rows
}

// sortRows sorts an integer key with a float payload.
func sortRows(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
	k, v := spread[int64](n), floats(random(1), n)
	t, err := frame(ctx, b, named{"k", k}, named{"v", v})
	if err != nil {
		return nil, err
	}
	return onTable(t, table.From(t).Sort(table.Asc("k")), 16*n, 16*n, firstRows(k, v, n)), nil
}

// topK keeps the hundred least keys with their payload.
func topK(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
	k, v := spread[int64](n), floats(random(1), n)
	t, err := frame(ctx, b, named{"k", k}, named{"v", v})
	if err != nil {
		return nil, err
	}
	m := min(n, 100)
	j := onTable(t, table.From(t).Sort(table.Asc("k")).Head(m), 8*n, 16*m, firstRows(k, v, m))
	j.input = 16 * n // of the payload only m values are read
	return j, nil
}

// firstRows checks that a table holds the first m rows in sorted order.
func firstRows(k []int64, v []float64, m int64) func(*table.Table) error {
	return func(got *table.Table) error {
		return sameRows(got, m, func(yield func(int64, float64)) {
			for _, row := range sorted(k)[:m] {
				yield(k[row], v[row])
			}
		})
	}
}

// sortKeys sorts integers of 32 bits with nothing beside them.
func sortKeys(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
	k := spread[uint32](n)
	t, err := frame(ctx, b, named{"k", k})
	if err != nil {
		return nil, err
	}
	return onTable(t, table.From(t).Sort(table.Asc("k")), 4*n, 4*n, func(got *table.Table) error {
		if got.NumRows() != n {
			return fmt.Errorf("%d rows, not %d", got.NumRows(), n)
		}
		rows, i, wrong := sorted(k), 0, -1
		err := each(got, 0, func(x uint32) {
			if wrong < 0 && x != k[rows[i]] {
				wrong = i
			}
			i++
		})
		if err == nil && wrong >= 0 {
			err = fmt.Errorf("row %d is not %d", wrong, k[rows[wrong]])
		}
		return err
	}), nil
}

// argsort gives the sorted rows of an integer key.
func argsort[K interface {
	key
	number
}](ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
	k := spread[K](n)
	width := int64(unsafe.Sizeof(K(0)))
	c, err := upload(ctx, b, k)
	if err != nil {
		return nil, err
	}
	s, err := b.NewStream()
	if err != nil {
		c.Release()
		return nil, err
	}
	return closing(&job{
		run: func(ctx context.Context) (result, error) {
			rows, err := b.SortIndices(ctx, s, []kernels.SortKey{{Values: c}})
			if err == nil {
				err = s.Wait(ctx)
			}
			return columnResult{b, s, []*memory.Column{rows}, func(got []*memory.Column) error {
				if got[0].Len() != n || !arrow.TypeEqual(got[0].Type(), arrow.PrimitiveTypes.Uint32) {
					return fmt.Errorf("%d rows of type %s, not %d of uint32", got[0].Len(), got[0].Type(), n)
				}
				rows := memory.Values[uint32](got[0])
				for i, want := range sorted(k) {
					if rows[i] != uint32(want) {
						return fmt.Errorf("place %d has row %d, not %d", i, rows[i], want)
					}
				}
				return nil
			}}, err
		},
		input: width * n, read: width * n, written: 4 * n, release: c.Release,
	}, s), nil
}
