package columnar

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// tableResult is a table and what it should hold.
type tableResult struct {
	*table.Table
	holds func(t *table.Table) error
}

func (r tableResult) check() error { return r.holds(r.Table) }

// onTable makes the job that collects a query over t, all of which it reads.
func onTable(t *table.Table, q *table.Query, read, written int64, holds func(t *table.Table) error) *job {
	return &job{
		run: func(ctx context.Context) (result, error) {
			got, err := q.Collect(ctx)
			return tableResult{got, holds}, err
		},
		input: read, read: read, written: written, release: t.Release,
	}
}

// filter keeps the rows of two columns where one is below a share.
func filter(share float64) func(context.Context, *kernels.Backend, int64) (*job, error) {
	return func(ctx context.Context, b *kernels.Backend, n int64) (*job, error) {
		k, v := integers(random(0), n, 1000), floats(random(1), n)
		t, err := frame(ctx, b, named{"k", k}, named{"v", v})
		if err != nil {
			return nil, err
		}
		kept := int64(0)
		for _, x := range v {
			if x < share {
				kept++
			}
		}
		return onTable(t, table.From(t).Filter(expr.Col("v").Lt(share)), 16*n, 16*kept, func(got *table.Table) error {
			return sameRows(got, kept, func(yield func(k int64, v float64)) {
				for i, x := range v {
					if x < share {
						yield(k[i], x)
					}
				}
			})
		}), nil
	}
}

// sameRows holds a table of an integer and a float column against rows in
// order.
func sameRows(got *table.Table, rows int64, want func(yield func(k int64, v float64))) error {
	if got.NumRows() != rows {
		return fmt.Errorf("%d rows, not %d", got.NumRows(), rows)
	}
	k, v := make([]int64, 0, rows), make([]float64, 0, rows)
	if err := each(got, 0, func(x int64) { k = append(k, x) }); err != nil {
		return err
	}
	if err := each(got, 1, func(x float64) { v = append(v, x) }); err != nil {
		return err
	}
	var err error
	i := 0
	want(func(wk int64, wv float64) {
		if err == nil && (i >= len(k) || k[i] != wk || v[i] != wv) {
			err = fmt.Errorf("row %d is not (%d, %v)", i, wk, wv)
		}
		i++
	})
	return err
}
