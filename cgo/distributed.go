package main

// #include "base.h"
import "C"

import (
	"context"
	"errors"
	"unsafe"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/distributed"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// distributedObject is a table on ranks. It keeps its group, which the caller may free.
type distributedObject struct {
	d    *distributed.Table
	comm *commObject
}

func (o *distributedObject) hold()      { o.d.Retain() }
func (o *distributedObject) drop()      { o.d.Release() }
func (*distributedObject) kind() string { return "distributed table" }

// giveDistributed is the outcome of a call that hands out a table on ranks.
func giveDistributed(ctx context.Context, out *C.uintptr_t, comm *commObject, d *distributed.Table, err error) (outcome, error) {
	if err != nil {
		return outcome{}, own(ctx, comm.named(err))
	}
	return give(out, &distributedObject{d, comm}), nil
}

// giveOwnTable is the outcome of a call that hands out a table of this rank, NULL for nil.
func giveOwnTable(ctx context.Context, out *C.uintptr_t, comm *commObject, t *table.Table, err error) (outcome, error) {
	if err != nil || t == nil {
		return outcome{}, own(ctx, comm.named(err))
	}
	return give(out, &tableObject{t}), nil
}

// onRanks is what a call makes of a table on ranks.
type onRanks = func(ctx context.Context, d *distributed.Table) (*distributed.Table, error)

// distribute makes a table on ranks of one, by the operation of that name.
func distribute(name, operation string, h, t C.uintptr_t, out *C.uintptr_t, prepare func(k *keeper) (onRanks, error)) C.int32_t {
	return tableTogether(name, operation, "table", h, 0, t, out != nil, func(k *keeper, o *distributedObject) (work, error) {
		do, err := prepare(k)
		return func(ctx context.Context) (outcome, error) {
			d, err := do(ctx, o.d)
			return giveDistributed(ctx, out, o.comm, d, err)
		}, err
	})
}

//export go_volley_distributed_new
func go_volley_distributed_new(h, part, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return commTogether("volley_distributed_new", "New", h, t, out != nil, func(k *keeper, o *commObject) (work, error) {
		own, err := kept[*tableObject](k, "table", part)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			d, err := distributed.New(ctx, o.c, own.t)
			return giveDistributed(ctx, out, o, d, err)
		}, nil
	})
}

// fromRoot makes a table on ranks of one that the root has.
func fromRoot(name, operation string, h, d, part C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t,
	spread func(context.Context, *collective.Comm, *kernels.Backend, *table.Table, int) (*distributed.Table, error)) C.int32_t {
	return commTogether(name, operation, h, t, out != nil, func(k *keeper, o *commObject) (work, error) {
		from, err := root("root", n)
		if err != nil {
			return nil, err
		}
		var whole *table.Table
		if part != 0 {
			own, err := kept[*tableObject](k, "table", part)
			if err != nil {
				return nil, err
			}
			whole = own.t
		}
		var b *kernels.Backend
		if d == 0 && whole != nil {
			b = whole.Backend()
		} else if b, err = backend(d); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			made, err := spread(ctx, o.c, b, whole, from)
			return giveDistributed(ctx, out, o, made, err)
		}, nil
	})
}

//export go_volley_distributed_scatter
func go_volley_distributed_scatter(h, d, part C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return fromRoot("volley_distributed_scatter", "Scatter", h, d, part, n, t, out, distributed.Scatter)
}

//export go_volley_distributed_broadcast
func go_volley_distributed_broadcast(h, d, part C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return fromRoot("volley_distributed_broadcast", "Broadcast", h, d, part, n, t, out, distributed.Broadcast)
}

// withDistributed runs a call on one table.
func withDistributed(name string, h C.uintptr_t, body func(d *distributed.Table) error) C.int32_t {
	return call(name, func() error {
		return with("table", h, func(o *distributedObject) error { return body(o.d) })
	})
}

//export go_volley_distributed_local
func go_volley_distributed_local(h C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return withDistributed("volley_distributed_local", h, func(d *distributed.Table) error {
		*out = register(&tableObject{d.Local().Retain()})
		return nil
	})
}

//export go_volley_distributed_rows
func go_volley_distributed_rows(h C.uintptr_t, out *C.int64_t) C.int32_t {
	return withDistributed("volley_distributed_rows", h, func(d *distributed.Table) error {
		*out = C.int64_t(d.NumRows())
		return nil
	})
}

//export go_volley_distributed_counts
func go_volley_distributed_counts(h C.uintptr_t, counts *C.int64_t, capacity C.int64_t, ranks *C.int64_t) C.int32_t {
	return withDistributed("volley_distributed_counts", h, func(d *distributed.Table) error {
		room, err := count("counts", counts, capacity)
		if err != nil {
			return err
		}
		all := d.Counts()
		for i, n := range all[:min(room, len(all))] {
			unsafe.Slice(counts, room)[i] = C.int64_t(n)
		}
		*ranks = C.int64_t(len(all))
		return nil
	})
}

//export go_volley_distributed_partitioning
func go_volley_distributed_partitioning(h C.uintptr_t, scheme **C.char, keys *C.int64_t) C.int32_t {
	return withDistributed("volley_distributed_partitioning", h, func(d *distributed.Table) error {
		*keys = C.int64_t(len(d.Partitioning().Keys))
		return giveText(scheme, d.Partitioning().Scheme.String())
	})
}

//export go_volley_distributed_key
func go_volley_distributed_key(h C.uintptr_t, i C.int64_t, out **C.char) C.int32_t {
	return withDistributed("volley_distributed_key", h, func(d *distributed.Table) error {
		keys := d.Partitioning().Keys
		if i < 0 || int64(i) >= int64(len(keys)) {
			return mismatch("key %d of %d", int64(i), len(keys))
		}
		return giveText(out, keys[i])
	})
}

//export go_volley_distributed_together
func go_volley_distributed_together(h C.uintptr_t, columns **C.char, n C.int64_t, out *C.int64_t) C.int32_t {
	return withDistributed("volley_distributed_together", h, func(d *distributed.Table) error {
		names, err := texts("columns", columns, n)
		if err == nil && d.Partitioning().Together(names...) {
			*out = 1
		}
		return err
	})
}

//export go_volley_distributed_free
func go_volley_distributed_free(h C.uintptr_t) C.int32_t {
	return free[*distributedObject]("volley_distributed_free", h)
}

// shuffle is a call that spreads rows.
func shuffle(name string, h, t C.uintptr_t, out *C.uintptr_t, by func() (distributed.By, error)) C.int32_t {
	return distribute(name, "Shuffle", h, t, out, func(*keeper) (onRanks, error) {
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
	return distribute("volley_distributed_rebalance", "Rebalance", h, t, out, func(*keeper) (onRanks, error) {
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
	return distribute("volley_distributed_repartition", "Repartition", h, t, out, func(*keeper) (onRanks, error) {
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
	return distribute("volley_distributed_replicate", "Replicate", h, t, out, func(*keeper) (onRanks, error) {
		return func(ctx context.Context, d *distributed.Table) (*distributed.Table, error) { return d.Replicate(ctx) }, nil
	})
}

//export go_volley_distributed_gather
func go_volley_distributed_gather(h C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	const name = "volley_distributed_gather"
	return tableTogether(name, "Gather", "table", h, 0, t, out != nil, func(_ *keeper, o *distributedObject) (work, error) {
		to, err := root("root", n)
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
	return ofTwo("volley_distributed_join", "Join", left, right, t, out, func() (func(ctx context.Context, d, o *distributed.Table) (*distributed.Table, error), error) {
		name, err := text("kind", kind)
		if err != nil {
			return nil, err
		}
		how, err := table.ParseKind(name)
		if err != nil {
			return nil, err
		}
		given, err := joinOptions(leftKeys, rightKeys, n, o)
		return func(ctx context.Context, d, other *distributed.Table) (*distributed.Table, error) {
			return d.Join(ctx, other, how, given...)
		}, err
	})
}

//export go_volley_comm_exchange
func go_volley_comm_exchange(h C.uintptr_t, parts *C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return commTogether("volley_comm_exchange", "Exchange", h, t, out != nil, func(k *keeper, o *commObject) (work, error) {
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

// together is long of a call that all ranks of a group make, as their operation of that name. What is refused of its arguments here becomes the error of all
// ranks, so that none waits for this one; a NULL for what the call hands out is refused too. group finds the group: one without a group is refused on this rank alone. It may give both a group and an error.
func together(name, operation string, t C.uintptr_t, out bool, group func(k *keeper) (*commObject, error), prepare func(k *keeper) (work, error)) C.int32_t {
	_, wrong := tokenOf(t)
	if wrong != nil {
		t = 0
	}
	if !out {
		wrong = errors.Join(wrong, mismatch("out is NULL"))
	}
	return long(name, t, func(k *keeper) (work, error) {
		k.together = true
		comm, err := group(k)
		if comm == nil {
			return nil, errors.Join(wrong, err)
		}
		body, err := prepared(k, errors.Join(wrong, err), prepare)
		if err == nil {
			return body, nil
		}
		return func(ctx context.Context) (outcome, error) {
			all := distributed.Refuse(ctx, comm.c, operation, err)
			if errors.Is(all, device.ErrClosed) && !errors.Is(err, device.ErrClosed) {
				all = err // there is nobody to be told
			}
			return outcome{}, own(ctx, comm.named(all))
		}, nil
	})
}

// tokenOf is the token of a call, nil without one.
func tokenOf(t C.uintptr_t) (*token, error) {
	if t == 0 {
		return nil, nil
	}
	return find[*token]("token", t)
}

// prepared is prepare, whose panic is an error, where nothing is wrong so far.
func prepared(k *keeper, wrong error, prepare func(k *keeper) (work, error)) (body work, err error) {
	if wrong != nil {
		return nil, wrong
	}
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return prepare(k)
}

// commTogether is together of a call on a group.
func commTogether(name, operation string, h, t C.uintptr_t, out bool, prepare func(k *keeper, o *commObject) (work, error)) C.int32_t {
	var o *commObject
	return together(name, operation, t, out, func(k *keeper) (_ *commObject, err error) {
		o, err = kept[*commObject](k, "comm", h)
		return o, err
	}, func(k *keeper) (work, error) { return prepare(k, o) })
}

// tableTogether is together of a call on a table. Where that is none the group is the other table's, if there is one.
func tableTogether(name, operation, argument string, h, other, t C.uintptr_t, out bool, prepare func(k *keeper, o *distributedObject) (work, error)) C.int32_t {
	var o *distributedObject
	return together(name, operation, t, out, func(k *keeper) (_ *commObject, err error) {
		if o, err = kept[*distributedObject](k, argument, h); err == nil {
			return o.comm, nil
		}
		if second, serr := kept[*distributedObject](k, argument, other); serr == nil {
			return second.comm, err
		}
		return nil, err
	}, func(k *keeper) (work, error) { return prepare(k, o) })
}

// ofTwo makes a table on ranks of two.
func ofTwo(name, operation string, left, right, t C.uintptr_t, out *C.uintptr_t,
	prepare func() (func(ctx context.Context, d, o *distributed.Table) (*distributed.Table, error), error)) C.int32_t {
	return tableTogether(name, operation, "left", left, right, t, out != nil, func(k *keeper, o *distributedObject) (work, error) {
		other, err := kept[*distributedObject](k, "right", right)
		if err != nil {
			return nil, err
		}
		do, err := prepare()
		return func(ctx context.Context) (outcome, error) {
			d, err := do(ctx, o.d, other.d)
			return giveDistributed(ctx, out, o.comm, d, err)
		}, err
	})
}

//export go_volley_distributed_refuse
func go_volley_distributed_refuse(h, d C.uintptr_t, operation, why *C.char, t C.uintptr_t) C.int32_t {
	const name = "volley_distributed_refuse"
	return long(name, t, func(k *keeper) (work, error) {
		k.together = true
		var o *commObject
		var err error
		if h != 0 {
			o, err = kept[*commObject](k, "comm", h)
		} else {
			var of *distributedObject
			if of, err = kept[*distributedObject](k, "comm or table", d); err == nil {
				o = of.comm
			}
		}
		if err != nil {
			return nil, err
		}
		called, err := text("operation", operation)
		if err != nil {
			return nil, err
		}
		reason, err := text("why", why)
		if err != nil {
			reason = err.Error() // the others must hear of it all the same
		}
		return func(ctx context.Context) (outcome, error) {
			return outcome{}, own(ctx, o.named(distributed.Refuse(ctx, o.c, called, mismatch("%s", reason))))
		}, nil
	})
}
