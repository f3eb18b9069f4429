package main

// #include "base.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// results are what a kernel makes: columns, which deliver hands out as objects.
type results struct {
	columns []*memory.Column
	deliver func(all []*columnObject)
}

// one is the result of a kernel that makes one column.
func one(out *C.uintptr_t, c *memory.Column, err error) (results, error) {
	return results{[]*memory.Column{c}, func(all []*columnObject) { *out = register(all[0]) }}, err
}

// kernelCall finds the device and the columns of a kernel, and gives work that runs body with them on the device, or on the stream that the
// device is seen through: then the columns are there when the stream has come to that moment.
func kernelCall(k *keeper, d C.uintptr_t, all []*columnObject,
	body func(ctx context.Context, b *kernels.Backend, s device.Stream, args []*memory.Column) (results, error)) (work, error) {
	b, q, err := keptBackend(k, d)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (outcome, error) {
		var made results
		at, err := onQueue(ctx, b, q, func(s device.Stream) (err error) {
			var args []*memory.Column
			defer func() {
				for _, c := range args {
					c.Release()
				}
			}()
			for _, o := range all {
				c, err := moved(ctx, b, s, o)
				if err != nil {
					return err
				}
				args = append(args, c)
			}
			if made, err = body(ctx, b, s, args); err != nil {
				return err
			}
			if q != nil {
				return nil // what is enqueued keeps its arguments
			}
			return s.Wait(ctx) // the arguments are read until then
		})
		if err != nil {
			for _, c := range made.columns {
				c.Release()
			}
			return outcome{}, err
		}
		defer at.drop()
		objects := make([]*columnObject, len(made.columns))
		for i, c := range made.columns {
			at.hold()
			objects[i] = newColumn(c, b, at)
		}
		return outcome{commit: func() { made.deliver(objects) }, discard: func() { dropAll(objects) }}, nil
	}, nil
}

// twoColumns is a kernel of two columns.
func twoColumns(name string, d, x, y, t C.uintptr_t, out *C.uintptr_t, xName, yName string,
	body func(ctx context.Context, b *kernels.Backend, s device.Stream, x, y *memory.Column) (*memory.Column, error)) C.int32_t {
	return long(name, t, func(k *keeper) (work, error) {
		first, err := kept[*columnObject](k, xName, x)
		if err != nil {
			return nil, err
		}
		second, err := kept[*columnObject](k, yName, y)
		if err != nil {
			return nil, err
		}
		return kernelCall(k, d, []*columnObject{first, second},
			func(ctx context.Context, b *kernels.Backend, s device.Stream, args []*memory.Column) (results, error) {
				c, err := body(ctx, b, s, args[0], args[1])
				return one(out, c, err)
			})
	})
}

//export go_volley_filter
func go_volley_filter(d, column, mask, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return twoColumns("volley_filter", d, column, mask, t, out, "column", "mask",
		func(ctx context.Context, b *kernels.Backend, s device.Stream, x, y *memory.Column) (*memory.Column, error) {
			return b.Filter(ctx, s, x, y, kernels.FilterOptions{})
		})
}

//export go_volley_take
func go_volley_take(d, column, rows, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return twoColumns("volley_take", d, column, rows, t, out, "column", "rows",
		func(ctx context.Context, b *kernels.Backend, s device.Stream, x, y *memory.Column) (*memory.Column, error) {
			return b.Take(ctx, s, x, y, kernels.TakeOptions{})
		})
}

// flags reads n flags, all false for NULL.
func flags(p *C.int32_t, n int) []bool {
	all := make([]bool, n)
	if p != nil {
		for i, v := range unsafe.Slice(p, n) {
			all[i] = v != 0
		}
	}
	return all
}

//export go_volley_sort
func go_volley_sort(d C.uintptr_t, keys *C.uintptr_t, descending, nullsFirst *C.int32_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_sort", t, func(k *keeper) (work, error) {
		all, err := keptAll[*columnObject](k, "keys", keys, n)
		if err != nil {
			return nil, err
		}
		down, first := flags(descending, len(all)), flags(nullsFirst, len(all))
		return kernelCall(k, d, all, func(ctx context.Context, b *kernels.Backend, s device.Stream, args []*memory.Column) (results, error) {
			var by []kernels.SortKey
			for i, c := range args {
				by = append(by, kernels.SortKey{Values: c, Descending: down[i], NullsFirst: first[i]})
			}
			rows, err := b.SortIndices(ctx, s, by)
			return one(out, rows, err)
		})
	})
}

// aggregations are those of kernels by their names.
var aggregations = map[string]kernels.Aggregation{
	"sum": kernels.Sum, "mean": kernels.Mean, "min": kernels.Min, "max": kernels.Max, "count": kernels.Count, "count_distinct": kernels.CountDistinct,
	"var": kernels.Var, "std": kernels.Std, "first": kernels.First, "last": kernels.Last, "any": kernels.Any, "all": kernels.All,
	"product": kernels.Product, "share": kernels.Mean, "sum_wrapping": kernels.SumWrapping,
}

//export go_volley_group
func go_volley_group(d C.uintptr_t, keys *C.uintptr_t, nKeys C.int64_t, p *C.volley_aggregate, values *C.uintptr_t, n C.int64_t,
	o *C.volley_group_options, t C.uintptr_t, outFirst, outValues *C.uintptr_t) C.int32_t {
	return long("volley_group", t, func(k *keeper) (work, error) {
		all, err := keptAll[*columnObject](k, "keys", keys, nKeys)
		if err != nil {
			return nil, err
		}
		given, err := options("options", o)
		if err != nil {
			return nil, err
		}
		count, err := count("aggregates", p, n)
		if err != nil {
			return nil, err
		}
		if count > 0 && (values == nil || outValues == nil) {
			return nil, mismatch("values and out_values are as many as aggregates, and not NULL")
		}
		outs := unsafe.Slice(outValues, count)
		aggs := make([]kernels.Aggregate, count)
		at := make([]int, count) // of an aggregate's input among the columns
		for i, h := range unsafe.Slice(values, count) {
			outs[i] = 0
			a := unsafe.Slice(p, count)[i]
			op, err := text(fmt.Sprintf("aggregates[%d].op", i), a.op)
			if err != nil {
				return nil, err
			}
			var ok bool
			if aggs[i].Op, ok = aggregations[op]; !ok {
				return nil, unknownAggregate(op)
			}
			aggs[i].Options = aggregateOptions(&a)
			if op == "count" && h == 0 {
				aggs[i].Op = kernels.CountAll
				continue
			}
			v, err := kept[*columnObject](k, fmt.Sprintf("values[%d]", i), h)
			if err != nil {
				return nil, err
			}
			at[i] = len(all)
			all = append(all, v)
		}
		keyed := int(nKeys)
		return kernelCall(k, d, all, func(ctx context.Context, b *kernels.Backend, s device.Stream, args []*memory.Column) (results, error) {
			for i := range aggs {
				if at[i] > 0 {
					aggs[i].Values = args[at[i]]
				}
			}
			g, err := b.GroupBy(ctx, s, args[:keyed], aggs, kernels.GroupOptions{DropNullKeys: given.drop_null_keys != 0, AnyOrder: given.any_order != 0})
			if err != nil {
				return results{}, err
			}
			return results{append([]*memory.Column{g.First}, g.Values...), func(all []*columnObject) {
				*outFirst = register(all[0])
				for i, o := range all[1:] {
					outs[i] = register(o)
				}
			}}, nil
		})
	})
}

//export go_volley_join
func go_volley_join(d C.uintptr_t, left, right *C.uintptr_t, n C.int64_t, kind *C.char, o *C.volley_join_options, t C.uintptr_t, outLeft, outRight *C.uintptr_t) C.int32_t {
	return long("volley_join", t, func(k *keeper) (work, error) {
		lefts, err := keptAll[*columnObject](k, "left", left, n)
		if err != nil {
			return nil, err
		}
		rights, err := keptAll[*columnObject](k, "right", right, n)
		if err != nil {
			return nil, err
		}
		name, err := text("kind", kind)
		if err != nil {
			return nil, err
		}
		how, err := table.ParseKind(name)
		if err != nil {
			return nil, err
		}
		given, err := options("options", o)
		if err != nil {
			return nil, err
		}
		if *(*uintptr)(unsafe.Pointer(&given.where)) != 0 {
			return nil, mismatch("options.where is for joins of queries: columns have no names")
		}
		leftOnly := how == table.Semi || how == table.Anti
		if how == table.Cross || outRight == nil && !leftOnly {
			return nil, mismatch("a join of kind %s wants keys, and out_right unless it is semi or anti", how)
		}
		made := kernels.JoinOptions{NullsEqual: given.nulls_equal != 0, AnyOrder: given.any_order != 0}
		return kernelCall(k, d, append(lefts, rights...), func(ctx context.Context, b *kernels.Backend, s device.Stream, args []*memory.Column) (results, error) {
			built, err := b.JoinBuild(ctx, s, args[len(lefts):], made)
			if err != nil {
				return results{}, err
			}
			defer built.Release()
			pairs, err := built.Probe(ctx, s, args[:len(lefts)], kernels.JoinKind(how), made)
			if err != nil {
				return results{}, err
			}
			given := []*memory.Column{pairs.Left}
			if pairs.Right != nil {
				given = append(given, pairs.Right)
			}
			return results{given, func(all []*columnObject) {
				*outLeft = register(all[0])
				if len(all) > 1 {
					*outRight = register(all[1])
				}
			}}, nil
		})
	})
}
