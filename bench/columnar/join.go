package columnar

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// join finds the one partner of each row among so many distinct keys, or among
// as many as there are rows for 0.
func join(keys int64) func(context.Context, *kernels.Backend, int64) (*job, error) {
	return func(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
		m := min(keys, n)
		if keys == 0 {
			m = n
		}
		lk := integers(random(0), n, m)
		if keys == 0 {
			lk = integers(random(0), n, 0)
		}
		v, rk, w := floats(random(1), n), integers(random(2), m, 0), floats(random(3), m)
		left, err := frame(ctx, b, named{"k", lk}, named{"v", v})
		if err != nil {
			return nil, err
		}
		right, err := frame(ctx, b, named{"k", rk}, named{"w", w})
		if err != nil {
			left.Release()
			return nil, err
		}
		q := table.From(left).Join(table.From(right), table.Inner, table.Keys("k", "k"))
		j := onTable(left, q, 16*n+16*m, 24*n, func(got *table.Table) error { return checkJoin(got, lk, v, rk, w) })
		release := j.release
		j.release = func() { release(); right.Release() }
		return j, nil
	}
}

// checkJoin holds the joined rows, in left order, against plain loops. Keys of
// the right side are distinct and below its length.
func checkJoin(got *table.Table, lk []int64, v []float64, rk []int64, w []float64) error {
	if got.NumRows() != int64(len(lk)) {
		return fmt.Errorf("%d rows, not %d", got.NumRows(), len(lk))
	}
	partner := make([]float64, len(rk))
	for i, key := range rk {
		partner[key] = w[i]
	}
	if names := got.Schema().Fields(); len(names) != 3 || names[0].Name != "k" || names[1].Name != "v" || names[2].Name != "w" {
		return fmt.Errorf("the columns are %v, not k, v, w", names)
	}
	wrong, i := -1, 0
	note := func(right bool) {
		if !right && wrong < 0 {
			wrong = i
		}
		i++
	}
	if err := each(got, 0, func(x int64) { note(x == lk[i]) }); err != nil {
		return err
	}
	i = 0
	if err := each(got, 1, func(x float64) { note(x == v[i]) }); err != nil {
		return err
	}
	i = 0
	if err := each(got, 2, func(x float64) { note(x == partner[lk[i]]) }); err != nil {
		return err
	}
	if wrong >= 0 {
		return fmt.Errorf("row %d is wrong", wrong)
	}
	return nil
}
