package columnar

import (
	"context"
	"fmt"
	"slices"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// spread are n integers over all of int64.
func spread(n int64) []int64 {
	r, v := random(0), make([]int64, n)
	for i := range v {
		v[i] = int64(r.Uint64())
	}
	return v
}

// sorted are the rows in the stable order of the keys.
func sorted(k []int64) []int32 {
	rows := make([]int32, len(k))
	for i := range rows {
		rows[i] = int32(i)
	}
	slices.SortFunc(rows, func(a, b int32) int {
		switch {
		case k[a] < k[b]:
			return -1
		case k[a] > k[b]:
			return 1
		default:
			return int(a) - int(b)
		}
	})
	return rows
}

// sortRows sorts an integer key with a float payload.
func sortRows(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
	k, v := spread(n), floats(random(1), n)
	t, err := frame(ctx, b, named{"k", k}, named{"v", v})
	if err != nil {
		return nil, err
	}
	return onTable(t, table.From(t).Sort(table.Asc("k")), 16*n, 16*n, firstRows(k, v, n)), nil
}

// topK keeps the hundred least keys with their payload.
func topK(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
	k, v := spread(n), floats(random(1), n)
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

// argsort gives the sorted rows of an integer key.
func argsort(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
	k := spread(n)
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
				for i, want := range sorted(k) {
					if g := kernels.ScalarAt(got[0], int64(i)).Int64(); g != int64(want) {
						return fmt.Errorf("place %d has row %d, not %d", i, g, want)
					}
				}
				return nil
			}}, err
		},
		input: 8 * n, read: 8 * n, written: 4 * n, release: c.Release,
	}, s), nil
}
