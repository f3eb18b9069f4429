package main

// #include "base.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// exprIn is the expression of a field of a structure. The field is read as a number: it is no address.
func exprIn(name string, p unsafe.Pointer) (*exprObject, error) {
	return find[*exprObject](name, *(*C.uintptr_t)(p))
}

//export go_volley_query_join
func go_volley_query_join(left, right C.uintptr_t, kind *C.char, leftKeys, rightKeys **C.char, n C.int64_t, o *C.volley_join_options, out *C.uintptr_t) C.int32_t {
	return call("volley_query_join", func() error {
		return with("left", left, func(l *plan) error {
			return with("right", right, func(r *plan) error {
				name, err := text("kind", kind)
				if err != nil {
					return err
				}
				k, err := table.ParseKind(name)
				if err != nil {
					return err
				}
				given, err := joinOptions(leftKeys, rightKeys, n, o)
				if err != nil {
					return err
				}
				return givePlan(out, l.q.Join(r.q, k, given...), l, r)
			})
		})
	})
}

//export go_volley_query_with_scalar
func go_volley_query_with_scalar(h C.uintptr_t, name *C.char, other C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return call("volley_query_with_scalar", func() error {
		return with("query", h, func(p *plan) error {
			return with("other", other, func(o *plan) error {
				n, err := text("name", name)
				if err != nil {
					return err
				}
				return givePlan(out, p.q.WithScalar(n, o.q), p, o)
			})
		})
	})
}

func joinOptions(leftKeys, rightKeys **C.char, n C.int64_t, o *C.volley_join_options) ([]table.JoinOption, error) {
	left, err := texts("left_keys", leftKeys, n)
	if err != nil {
		return nil, err
	}
	right, err := texts("right_keys", rightKeys, n)
	if err != nil {
		return nil, err
	}
	given, err := options("options", o)
	if err != nil {
		return nil, err
	}
	var all []table.JoinOption
	for i := range left {
		all = append(all, table.Keys(left[i], right[i]))
	}
	if given.nulls_equal != 0 {
		all = append(all, table.NullsEqual())
	}
	if given.any_order != 0 {
		all = append(all, table.AnyOrder())
	}
	if given.suffix != nil {
		s, err := text("suffix", given.suffix)
		if err != nil {
			return nil, err
		}
		all = append(all, table.Suffix(s))
	}
	if where := unsafe.Pointer(&given.where); *(*uintptr)(where) != 0 {
		o, err := exprIn("options.where", where)
		if err != nil {
			return nil, err
		}
		all = append(all, table.Where(o.e))
	}
	return all, nil
}

// ordersOf reads the keys of a sort.
func ordersOf(keys *C.volley_order, n C.int64_t) ([]table.Order, error) {
	k, err := count("keys", keys, n)
	if err != nil {
		return nil, err
	}
	var orders []table.Order
	for i, key := range unsafe.Slice(keys, k) {
		o, err := exprIn(fmt.Sprintf("keys[%d]", i), unsafe.Pointer(&unsafe.Slice(keys, k)[i].key))
		if err != nil {
			return nil, err
		}
		order := table.Asc(o.e)
		if key.descending != 0 {
			order = table.Desc(o.e)
		}
		if key.nulls_first != 0 {
			order = order.NullsFirst()
		}
		orders = append(orders, order)
	}
	return orders, nil
}

// compareRows makes a query of the rows of two.
func compareRows(name string, left, right C.uintptr_t, out *C.uintptr_t, body func(l, r *table.Query) *table.Query) C.int32_t {
	return call(name, func() error {
		return with("left", left, func(l *plan) error {
			return with("right", right, func(r *plan) error { return givePlan(out, body(l.q, r.q), l, r) })
		})
	})
}

//export go_volley_query_intersect
func go_volley_query_intersect(left, right C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return compareRows("volley_query_intersect", left, right, out, func(l, r *table.Query) *table.Query { return l.Intersect(r) })
}

//export go_volley_query_except
func go_volley_query_except(left, right C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return compareRows("volley_query_except", left, right, out, func(l, r *table.Query) *table.Query { return l.Except(r) })
}

//export go_volley_query_sort
func go_volley_query_sort(h C.uintptr_t, keys *C.volley_order, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_sort", h, out, func(q *table.Query) (*table.Query, error) {
		orders, err := ordersOf(keys, n)
		return q.Sort(orders...), err
	})
}

//export go_volley_query_top_k
func go_volley_query_top_k(h C.uintptr_t, k C.int64_t, keys *C.volley_order, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_top_k", h, out, func(q *table.Query) (*table.Query, error) {
		orders, err := ordersOf(keys, n)
		return q.TopK(int64(k), orders...), err
	})
}

// aggregates are those of tables by their names.
var aggregates = map[string]func(any) table.Aggregate{
	"sum": table.Sum, "mean": table.Mean, "min": table.Min, "max": table.Max, "count": func(arg any) table.Aggregate { return table.Count(arg) },
	"count_distinct": table.CountDistinct, "var": table.Var, "std": table.Std, "first": table.First, "last": table.Last, "any": table.Any,
	"all": table.All, "product": table.Product, "share": table.Share, "sum_wrapping": table.SumWrapping,
}

func unknownAggregate(op string) error {
	return device.Errorf(device.ErrUnsupported, "", "aggregate", "there is no aggregate %q", op)
}

// aggregateOptions are those of one aggregate.
func aggregateOptions(a *C.volley_aggregate) kernels.AggregateOptions {
	return kernels.AggregateOptions{KeepNulls: a.keep_nulls != 0, MinCount: int64(a.min_count), Ddof: int(a.ddof)}
}

// aggregatesOf reads aggregates of a table.
func aggregatesOf(p *C.volley_aggregate, n C.int64_t) ([]table.Aggregate, error) {
	k, err := count("aggregates", p, n)
	if err != nil {
		return nil, err
	}
	var all []table.Aggregate
	list := unsafe.Slice(p, k)
	for i := range list {
		op, err := text(fmt.Sprintf("aggregates[%d].op", i), list[i].op)
		if err != nil {
			return nil, err
		}
		make := aggregates[op]
		if make == nil {
			return nil, unknownAggregate(op)
		}
		a := table.Count()
		if input := unsafe.Pointer(&list[i].input); op != "count" || *(*uintptr)(input) != 0 {
			o, err := exprIn(fmt.Sprintf("aggregates[%d].input", i), input)
			if err != nil {
				return nil, err
			}
			a = make(o.e)
		}
		if list[i].name != nil {
			name, err := text("name", list[i].name)
			if err != nil {
				return nil, err
			}
			a = a.As(name)
		}
		all = append(all, a.With(aggregateOptions(&list[i])))
	}
	return all, nil
}

//export go_volley_query_group_by
func go_volley_query_group_by(h C.uintptr_t, keys *C.uintptr_t, nKeys C.int64_t, p *C.volley_aggregate, n C.int64_t, o *C.volley_group_options, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_group_by", h, out, func(q *table.Query) (*table.Query, error) {
		by, err := expressions("keys", keys, nKeys)
		if err != nil {
			return nil, err
		}
		all, err := aggregatesOf(p, n)
		if err != nil {
			return nil, err
		}
		given, err := options("options", o)
		if err != nil {
			return nil, err
		}
		g := q.GroupBy(anys(by)...)
		if given.drop_null_keys != 0 {
			g = g.DropNullKeys()
		}
		if given.any_order != 0 {
			g = g.AnyOrder()
		}
		return g.Agg(all...), nil
	})
}

// partitioning is a call that splits a table into so many, for which out has room.
func partitioning(name string, h C.uintptr_t, parts C.int64_t, t C.uintptr_t, out *C.uintptr_t,
	prepare func(k *keeper, whole *table.Table) (func(ctx context.Context) ([]*table.Table, error), error)) C.int32_t {
	return long(name, t, func(k *keeper) (work, error) {
		if parts < 1 || parts > kernels.MaxParts {
			return nil, mismatch("%d parts: 1 to %d", int64(parts), kernels.MaxParts)
		}
		outs := unsafe.Slice(out, int(parts))
		clear(outs)
		o, err := kept[*tableObject](k, "table", h)
		if err != nil {
			return nil, err
		}
		split, err := prepare(k, o.t)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			all, err := split(ctx)
			if err != nil {
				return outcome{}, err
			}
			return outcome{
				commit: func() {
					for i, t := range all {
						outs[i] = register(&tableObject{t})
					}
				},
				discard: func() {
					for _, t := range all {
						t.Release()
					}
				},
			}, nil
		}, nil
	})
}

//export go_volley_table_partition
func go_volley_table_partition(h C.uintptr_t, keys **C.char, n, parts C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return partitioning("volley_table_partition", h, parts, t, out, func(_ *keeper, whole *table.Table) (func(context.Context) ([]*table.Table, error), error) {
		by, err := texts("keys", keys, n)
		return func(ctx context.Context) ([]*table.Table, error) { return whole.Partition(ctx, int(parts), by...) }, err
	})
}

//export go_volley_table_partition_round_robin
func go_volley_table_partition_round_robin(h C.uintptr_t, parts C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return partitioning("volley_table_partition_round_robin", h, parts, t, out, func(_ *keeper, whole *table.Table) (func(context.Context) ([]*table.Table, error), error) {
		return func(ctx context.Context) ([]*table.Table, error) { return whole.PartitionRoundRobin(ctx, int(parts)) }, nil
	})
}

//export go_volley_table_partition_range
func go_volley_table_partition_range(h, bounds C.uintptr_t, keys *C.volley_order, n, parts C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return partitioning("volley_table_partition_range", h, parts, t, out, func(k *keeper, whole *table.Table) (func(context.Context) ([]*table.Table, error), error) {
		limits, err := kept[*tableObject](k, "bounds", bounds)
		if err != nil {
			return nil, err
		}
		if limits.t.NumRows() != int64(parts)-1 {
			return nil, mismatch("%d bounds for %d parts: one less is wanted", limits.t.NumRows(), int64(parts))
		}
		orders, err := ordersOf(keys, n)
		return func(ctx context.Context) ([]*table.Table, error) {
			return whole.PartitionByRange(ctx, limits.t, orders...)
		}, err
	})
}

//export go_volley_table_row_number
func go_volley_table_row_number(h C.uintptr_t, name *C.char, first C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_table_row_number", t, func(k *keeper) (work, error) {
		o, err := kept[*tableObject](k, "table", h)
		if err != nil {
			return nil, err
		}
		called, err := text("name", name)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := o.t.WithRowNumber(ctx, called, int64(first))
			return giveFailable(out, &tableObject{made}, err)
		}, nil
	})
}
