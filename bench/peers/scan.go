package peers

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// scans read columns from one end to the other.
var scans = []problem{
	{name: "sum", inputs: values, columns: []kind{approx}, ours: reduction(kernels.Sum)},
	{name: "minmax", inputs: values, columns: []kind{exact, exact}, ours: kernel(func(ctx context.Context, b *kernels.Backend, s device.Stream, v *memory.Column) (columnsOutcome, error) {
		least, greatest, err := b.MinMax(ctx, s, v, kernels.AggregateOptions{})
		return columnsOutcome{least, greatest}, err
	})},
	{name: "filter_count", inputs: values, columns: []kind{exact}, ours: filterCount},
	matched("contains", kernels.Contains, "qu"),
	matched("starts_with", kernels.StartsWith, "qu"),
	{name: "cumsum", inputs: values, columns: []kind{approx}, places: true, ours: kernel(func(ctx context.Context, b *kernels.Backend, s device.Stream, v *memory.Column) (columnsOutcome, error) {
		c, err := b.Scan(ctx, s, kernels.CumulativeSum, v, kernels.ScanOptions{})
		return columnsOutcome{c}, err
	})},
	{name: "filter_10", inputs: keysAndValues, columns: []kind{exact, exact}, ours: filter(0.1)},
	{name: "filter_50", inputs: keysAndValues, columns: []kind{exact, exact}, ours: filter(0.5)},
	{name: "expr", inputs: operands, columns: []kind{exact}, order: 1, ours: func(o *onOurs) ([]ourWay, error) {
		e, err := expr.Parse("(a * b + c) > d and e")
		if err != nil {
			return nil, err
		}
		return query(table.From(o.tables["t"]).Select(e.As("expr"))), nil
	}},
	{name: "bitmap_and", inputs: bitmaps, columns: []kind{exact}, order: 1,
		ours: kernelOver(func(ctx context.Context, b *kernels.Backend, s device.Stream, v []*memory.Column) (columnsOutcome, error) {
			both, err := b.Logic(ctx, s, kernels.And, v[0], v[1])
			return columnsOutcome{both}, err
		})},
	{name: "bitmap_count", inputs: bitmap, columns: []kind{exact}, ours: reduction(kernels.Sum)},
}

func values(n int64) map[string]arrow.RecordBatch {
	return map[string]arrow.RecordBatch{"t": record(column{"v", float64s(floats(1, n))})}
}

// bitmap is a column of bools, half of them true: a bit a row.
func bitmap(n int64) map[string]arrow.RecordBatch {
	return map[string]arrow.RecordBatch{"t": record(column{"a", truths(0, n)})}
}

func bitmaps(n int64) map[string]arrow.RecordBatch {
	return map[string]arrow.RecordBatch{"t": record(column{"a", truths(0, n)}, column{"b", truths(1, n)})}
}

func keysAndValues(n int64) map[string]arrow.RecordBatch {
	return map[string]arrow.RecordBatch{"t": record(column{"k", int64s(draws(0, n, 1000))}, column{"v", float64s(floats(1, n))})}
}

func operands(n int64) map[string]arrow.RecordBatch {
	var columns []column
	for i, name := range []string{"a", "b", "c", "d"} {
		columns = append(columns, column{name, float64s(floats(uint64(i), n))})
	}
	return map[string]arrow.RecordBatch{"t": record(append(columns, column{"e", truths(4, n)})...)}
}

// kernel is the way that calls kernels on the first column of "t".
func kernel(f func(ctx context.Context, b *kernels.Backend, s device.Stream, v *memory.Column) (columnsOutcome, error)) func(*onOurs) ([]ourWay, error) {
	return kernelOver(func(ctx context.Context, b *kernels.Backend, s device.Stream, v []*memory.Column) (columnsOutcome, error) {
		return f(ctx, b, s, v[0])
	})
}

// kernelOver is the way that calls kernels on the columns of "t".
func kernelOver(f func(ctx context.Context, b *kernels.Backend, s device.Stream, v []*memory.Column) (columnsOutcome, error)) func(*onOurs) ([]ourWay, error) {
	return func(o *onOurs) ([]ourWay, error) {
		s, err := o.backend.NewStream()
		if err != nil {
			return nil, err
		}
		o.stream = s
		t := o.tables["t"].Chunks()[0]
		v := make([]*memory.Column, t.NumColumns())
		for i := range v {
			v[i] = t.Column(i)
		}
		return []ourWay{{"kernel", func(ctx context.Context) (outcome, error) {
			c, err := f(ctx, o.backend, s, v)
			if err == nil {
				err = s.Wait(ctx)
			}
			if err != nil {
				return nil, err
			}
			return c, nil
		}}}, nil
	}
}

func reduction(ops ...kernels.Aggregation) func(*onOurs) ([]ourWay, error) {
	return kernel(func(ctx context.Context, b *kernels.Backend, s device.Stream, v *memory.Column) (out columnsOutcome, err error) {
		for _, op := range ops {
			r, err := b.Reduce(ctx, s, op, v, kernels.AggregateOptions{})
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		return out, nil
	})
}

// filterCount counts values below 0.1: by two kernels, and by a query.
func filterCount(o *onOurs) ([]ourWay, error) {
	ways, err := kernel(func(ctx context.Context, b *kernels.Backend, s device.Stream, v *memory.Column) (columnsOutcome, error) {
		mask, err := b.Compare(ctx, s, kernels.Less, v, kernels.Float64(0.1))
		if err != nil {
			return nil, err
		}
		defer mask.Release()
		r, err := b.Reduce(ctx, s, kernels.Sum, mask, kernels.AggregateOptions{})
		return columnsOutcome{r}, err
	})(o)
	if err != nil {
		return nil, err
	}
	return append(ways, query(table.From(o.tables["t"]).Filter(expr.Col("v").Lt(0.1)).Agg(table.Count()))...), nil
}

// matched counts the texts that a pattern matches.
func matched(name string, op kernels.MatchOp, pattern string) problem {
	return problem{
		name: name, columns: []kind{exact},
		inputs: func(n int64) map[string]arrow.RecordBatch {
			return map[string]arrow.RecordBatch{"t": record(column{"k", words(0, n)})}
		},
		ours: kernel(func(ctx context.Context, b *kernels.Backend, s device.Stream, k *memory.Column) (columnsOutcome, error) {
			mask, err := b.Match(ctx, s, op, k, pattern)
			if err != nil {
				return nil, err
			}
			defer mask.Release()
			r, err := b.Reduce(ctx, s, kernels.Sum, mask, kernels.AggregateOptions{})
			return columnsOutcome{r}, err
		}),
	}
}

func filter(share float64) func(*onOurs) ([]ourWay, error) {
	return func(o *onOurs) ([]ourWay, error) {
		return query(table.From(o.tables["t"]).Filter(expr.Col("v").Lt(share))), nil
	}
}
