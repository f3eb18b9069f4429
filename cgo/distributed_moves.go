package main

// #include "base.h"
import "C"

import (
	"context"
	"unsafe"

	"github.com/volley-go/volley/distributed"
	"github.com/volley-go/volley/table"
)

// shuffle is a call that spreads rows.
func shuffle(name string, h, t C.uintptr_t, out *C.uintptr_t, by func() (distributed.By, error)) C.int32_t {
	return distribute(name, h, t, out, func(*keeper) (func(context.Context, *distributed.Table) (*distributed.Table, error), error) {
		how, err := by()
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.Shuffle(ctx, how)
		}, err
	})
}

//export go_volley_distributed_shuffle
func go_volley_distributed_shuffle(h C.uintptr_t, keys **C.char, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return shuffle("volley_distributed_shuffle", h, t, out, func() (distributed.By, error) {
		names, err := texts("keys", keys, n)
		return distributed.Hash(names...), err
	})
}

//export go_volley_distributed_shuffle_range
func go_volley_distributed_shuffle_range(h C.uintptr_t, keys *C.volley_order, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return shuffle("volley_distributed_shuffle_range", h, t, out, func() (distributed.By, error) {
		orders, err := ordersOf(keys, n)
		return distributed.Range(orders...), err
	})
}

//export go_volley_distributed_shuffle_round_robin
func go_volley_distributed_shuffle_round_robin(h, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return shuffle("volley_distributed_shuffle_round_robin", h, t, out, func() (distributed.By, error) { return distributed.RoundRobin(), nil })
}

//export go_volley_distributed_rebalance
func go_volley_distributed_rebalance(h C.uintptr_t, measure *C.char, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_rebalance", h, t, out, func(*keeper) (func(context.Context, *distributed.Table) (*distributed.Table, error), error) {
		name, err := optional("measure", measure)
		if err != nil {
			return nil, err
		}
		by := distributed.ByRows
		switch name {
		case "", distributed.ByRows.String():
		case distributed.ByBytes.String():
			by = distributed.ByBytes
		default:
			return nil, mismatch("measure is %q: rows and bytes are measures", name)
		}
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.Rebalance(ctx, by)
		}, nil
	})
}

//export go_volley_distributed_repartition
func go_volley_distributed_repartition(h C.uintptr_t, counts *C.int64_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_repartition", h, t, out, func(*keeper) (func(context.Context, *distributed.Table) (*distributed.Table, error), error) {
		k, err := count("counts", counts, n)
		if err != nil {
			return nil, err
		}
		all := make([]int64, k)
		for i, c := range unsafe.Slice(counts, k) {
			all[i] = int64(c)
		}
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.Repartition(ctx, all)
		}, nil
	})
}

//export go_volley_distributed_replicate
func go_volley_distributed_replicate(h, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_replicate", h, t, out, func(*keeper) (func(context.Context, *distributed.Table) (*distributed.Table, error), error) {
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) { return d.Replicate(ctx) }, nil
	})
}

//export go_volley_distributed_gather
func go_volley_distributed_gather(h C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	const name = "volley_distributed_gather"
	return long(name, t, func(k *keeper) (work, error) {
		o, err := kept[*distributedObject](k, "table", h)
		if err != nil {
			return nil, err
		}
		to, err := root(name, n)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := o.d.Gather(ctx, to)
			return giveOwnTable(ctx, out, o.comm, made, err)
		}, nil
	})
}

//export go_volley_distributed_join
func go_volley_distributed_join(left, right C.uintptr_t, kind *C.char, leftKeys, rightKeys **C.char, n C.int64_t, o *C.volley_join_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return distribute("volley_distributed_join", left, t, out, func(k *keeper) (func(context.Context, *distributed.Table) (*distributed.Table, error), error) {
		other, err := kept[*distributedObject](k, "right", right)
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
		given, err := joinOptions(leftKeys, rightKeys, n, o)
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) {
			return d.Join(ctx, other.d, how, given...)
		}, err
	})
}

//export go_volley_comm_exchange
func go_volley_comm_exchange(h C.uintptr_t, parts *C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_comm_exchange", t, func(k *keeper) (work, error) {
		o, err := kept[*commObject](k, "comm", h)
		if err != nil {
			return nil, err
		}
		all, err := keptAll[*tableObject](k, "parts", parts, n)
		if err != nil {
			return nil, err
		}
		tables := make([]*table.Table, len(all))
		for i, p := range all {
			tables[i] = p.t
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := distributed.Exchange(ctx, o.c, tables)
			return giveOwnTable(ctx, out, o, made, err)
		}, nil
	})
}
