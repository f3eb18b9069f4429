package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// PartitionByRange splits the table at bounds: a row goes to the part whose number is
// that of the bounds that the row does not come before, in the order of Sort by these
// keys, with its places for nulls and NaNs. n bounds make n+1 parts, each before the
// next; rows that are equal in the keys go to one part, and keep the table's order. See
// Partition for what the parts have in common.
//
// The bounds are a table on the same backend with a column for each key, in the order
// of the keys, whatever its name, and in sorted order (ErrMismatch). They are cast to the
// types of the keys; one that has no such value is an ErrValue.
func (t *Table) PartitionByRange(ctx context.Context, bounds *Table, keys ...Order) ([]*Table, error) {
	r, err := t.ranges(bounds, keys)
	if err != nil {
		return nil, wrapError("partition", err)
	}
	s, err := t.backend.NewStream()
	if err != nil {
		return nil, err
	}
	err = r.load(ctx, s, bounds)
	defer func() { releaseColumns(r.bounds) }()
	if err == nil {
		err = s.Wait(ctx)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, wrapError("partition", err)
	}
	return t.partitioned(ctx, int(bounds.rows)+1, func(ctx context.Context, s device.Stream, b *Batch, _ int64) (*kernels.Partitions, int, error) {
		where, err := r.partition(ctx, s, b)
		return where, 0, err
	})
}

// rangePartition spreads batches by the order of keys.
type rangePartition struct {
	backend *kernels.Backend
	keys    []Order
	exprs   *expr.Bound
	types   []arrow.DataType // of the keys, dictionaries as their values
	bounds  []*memory.Column
}

// ranges checks the arguments of PartitionByRange.
func (t *Table) ranges(bounds *Table, keys []Order) (*rangePartition, error) {
	r := &rangePartition{backend: t.backend, keys: keys}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: no keys given", errMismatch)
	}
	if bounds == nil {
		return nil, fmt.Errorf("%w: no bounds given", errMismatch)
	}
	if bounds.backend != t.backend {
		return nil, fmt.Errorf("%w: the bounds are on %s, the table on %s", errMismatch, bounds.backend.Device.Name(), t.backend.Device.Name())
	}
	if bounds.NumColumns() != len(keys) {
		return nil, fmt.Errorf("%w: bounds of %d columns for %d keys", errMismatch, bounds.NumColumns(), len(keys))
	}
	if bounds.rows >= kernels.MaxParts {
		return nil, fmt.Errorf("%w: %d bounds: at most %d parts", errMismatch, bounds.rows, kernels.MaxParts)
	}
	all := make([]*expr.Expr, len(keys))
	for i, k := range keys {
		if k.err != nil {
			return nil, k.err
		}
		all[i] = k.key
	}
	var err error
	if r.exprs, err = expr.BindAll(t.schema, all...); err != nil {
		return nil, err
	}
	for i, k := range keys {
		typ := r.exprs.TypeOf(i)
		if !kernels.KeyTypes.Has(typ.ID()) {
			return nil, fmt.Errorf("%w: %s of type %s has no order", errUnsupported, k.key, expr.TypeName(typ))
		}
		if d, ok := typ.(*arrow.DictionaryType); ok {
			typ = d.ValueType
		}
		r.types = append(r.types, typ)
	}
	return r, nil
}

// load casts the bounds and checks their order.
func (r *rangePartition) load(ctx context.Context, s device.Stream, t *Table) error {
	held := make([]*Batch, len(t.chunks))
	for i, c := range t.chunks {
		held[i] = c.Retain()
	}
	run := &runner{backend: r.backend, stream: s}
	whole, err := run.concat(ctx, t.schema, held)
	if err != nil {
		return fmt.Errorf("bounds: %w", err)
	}
	defer whole.Release()
	if r.bounds, err = r.cast(ctx, s, whole.Columns()); err != nil {
		return fmt.Errorf("bounds: %w", err)
	}
	order, err := r.sorted(ctx, s, r.bounds)
	if err != nil {
		return err
	}
	for i, row := range order {
		if row != int64(i) {
			return fmt.Errorf("%w: the bounds are not sorted: row %d comes before row %d", errMismatch, row, i)
		}
	}
	return nil
}

// cast gives columns the types of the keys.
func (r *rangePartition) cast(ctx context.Context, s device.Stream, columns []*memory.Column) ([]*memory.Column, error) {
	made := make([]*memory.Column, 0, len(columns))
	for i, c := range columns {
		as, err := decoded(ctx, r.backend, s, c)
		if err == nil && !arrow.TypeEqual(as.Type(), r.types[i]) {
			values := as
			as, err = r.backend.Cast(ctx, s, values, r.types[i], kernels.CastOptions{})
			values.Release()
		}
		if err != nil {
			releaseColumns(made)
			return nil, fmt.Errorf("key %s: %w", r.keys[i].key, err)
		}
		made = append(made, as)
	}
	return made, nil
}

// partition spreads the rows of a batch. One rising key has a kernel of its own.
func (r *rangePartition) partition(ctx context.Context, s device.Stream, b *Batch) (*kernels.Partitions, error) {
	values, err := r.exprs.EvalAll(ctx, r.backend, s, b.Len(), b.Columns())
	if err != nil {
		return nil, err
	}
	defer releaseColumns(values)
	keys, err := r.cast(ctx, s, values)
	if err != nil {
		return nil, err
	}
	defer releaseColumns(keys)
	if len(keys) == 1 && !r.keys[0].descending && !r.keys[0].nullsFirst {
		return r.backend.Partition(ctx, s, keys, kernels.PartitionOptions{Scheme: kernels.ByRange, Bounds: r.bounds[0]})
	}
	return r.among(ctx, s, keys, b.Len())
}

// among sorts the bounds and the keys together. A bound comes before rows that equal
// it, so the part of a row is the number of bounds before it.
func (r *rangePartition) among(ctx context.Context, s device.Stream, keys []*memory.Column, rows int64) (*kernels.Partitions, error) {
	both := make([]*memory.Column, 0, len(keys))
	defer func() { releaseColumns(both) }()
	for i, k := range keys {
		c, err := r.backend.Concat(ctx, s, []*memory.Column{r.bounds[i], k})
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", r.keys[i].key, err)
		}
		both = append(both, c)
	}
	order, err := r.sorted(ctx, s, both)
	if err != nil {
		return nil, err
	}
	n := r.bounds[0].Len()
	parts, part := make([]uint32, rows), uint32(0)
	for i, at := range order {
		if i%(1<<20) == 0 {
			if err := device.Canceled(ctx, r.backend.Device.Name(), "partition"); err != nil {
				return nil, err
			}
		}
		if at < n {
			part++
		} else {
			parts[at-n] = part
		}
	}
	limits := make([]uint32, n)
	for i := range limits {
		limits[i] = uint32(i) + 1
	}
	of, err := r.numbers(ctx, s, parts)
	if err != nil {
		return nil, err
	}
	defer of.Release()
	until, err := r.numbers(ctx, s, limits)
	if err != nil {
		return nil, err
	}
	defer until.Release()
	return r.backend.Partition(ctx, s, []*memory.Column{of}, kernels.PartitionOptions{Scheme: kernels.ByRange, Bounds: until})
}

// numbers is a column of Go's numbers where the backend reads it.
func (r *rangePartition) numbers(ctx context.Context, s device.Stream, values []uint32) (*memory.Column, error) {
	c, err := memory.NewColumn(fixedParts(arrow.PrimitiveTypes.Uint32, values))
	if err != nil {
		return nil, err
	}
	defer c.Release()
	return OnDevice(ctx, r.backend, s, c)
}

// sorted are the rows of columns in the order of the keys, on the host.
func (r *rangePartition) sorted(ctx context.Context, s device.Stream, columns []*memory.Column) ([]int64, error) {
	keys := make([]kernels.SortKey, len(columns))
	for i, c := range columns {
		keys[i] = kernels.SortKey{Values: c, Descending: r.keys[i].descending, NullsFirst: r.keys[i].nullsFirst}
	}
	rows, err := r.backend.SortIndices(ctx, s, keys)
	if err != nil {
		names := make([]string, len(r.keys))
		for i, k := range r.keys {
			names[i] = nameOf(k.key)
		}
		return nil, lacking(err, "sort", names)
	}
	defer rows.Release()
	here, err := r.backend.OnHost(ctx, s, rows)
	if err != nil {
		return nil, err
	}
	defer here.Release()
	order := make([]int64, here.Len())
	if here.Type().ID() == arrow.UINT32 {
		for i, row := range memory.Values[uint32](here) {
			order[i] = int64(row)
		}
		return order, nil
	}
	for i, row := range memory.Values[uint64](here) {
		order[i] = int64(row)
	}
	return order, nil
}
