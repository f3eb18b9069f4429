package columnar

import (
	"context"
	"fmt"
	"math"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// groupBy sums and counts floats by an integer key of so many values, or all
// distinct for 0.
func groupBy(keys int64) func(context.Context, *kernels.Backend, int64) (*job, error) {
	return func(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
		k, v := integers(random(0), n, keys), floats(random(1), n)
		t, err := frame(ctx, b, named{"k", k}, named{"v", v})
		if err != nil {
			return nil, err
		}
		q := table.From(t).GroupBy("k").Agg(table.Sum("v").As("sum"), table.Count().As("count"))
		groups := keys
		if keys == 0 {
			groups = n
		}
		return onTable(t, q, 16*n, 24*min(groups, n), func(got *table.Table) error { return checkGroups(got, k, v) }), nil
	}
}

// checkGroups holds groups, in order of first appearance, against plain loops.
// Keys are below the number of rows.
func checkGroups(got *table.Table, k []int64, v []float64) error {
	limit := int64(0)
	for _, key := range k {
		limit = max(limit, key+1)
	}
	sum, count := make([]float64, limit), make([]int64, limit)
	var order []int64
	for i, key := range k {
		if count[key] == 0 {
			order = append(order, key)
		}
		sum[key] += v[i]
		count[key]++
	}
	if got.NumRows() != int64(len(order)) {
		return fmt.Errorf("%d groups, not %d", got.NumRows(), len(order))
	}
	var err error
	at := 0
	next := func(what string, right bool) {
		if err == nil && !right {
			err = fmt.Errorf("the %s of group %d (key %d) is wrong", what, at, order[at])
		}
		at++
	}
	if e := each(got, 0, func(x int64) { next("key", x == order[at]) }); e != nil {
		return e
	}
	at = 0
	if e := each(got, 1, func(x float64) { next("sum", math.Abs(x-sum[order[at]]) <= 1e-9*sum[order[at]]) }); e != nil {
		return e
	}
	at = 0
	if e := each(got, 2, func(x int64) { next("count", x == count[order[at]]) }); e != nil {
		return e
	}
	return err
}

// distinct keeps the first row of each of 1e5 keys.
func distinct(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
	k := integers(random(0), n, 100_000)
	t, err := frame(ctx, b, named{"k", k})
	if err != nil {
		return nil, err
	}
	return onTable(t, table.From(t).Distinct(), 8*n, 8*min(n, 100_000), func(got *table.Table) error {
		seen := make([]bool, 100_000)
		var want []int64
		for _, key := range k {
			if !seen[key] {
				seen[key] = true
				want = append(want, key)
			}
		}
		if got.NumRows() != int64(len(want)) {
			return fmt.Errorf("%d keys, not %d", got.NumRows(), len(want))
		}
		i, wrong := 0, -1
		if err := each(got, 0, func(x int64) {
			if x != want[i] && wrong < 0 {
				wrong = i
			}
			i++
		}); err != nil {
			return err
		}
		if wrong >= 0 {
			return fmt.Errorf("key %d is not %d", wrong, want[wrong])
		}
		return nil
	}), nil
}
