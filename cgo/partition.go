package main

// #include "base.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

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
