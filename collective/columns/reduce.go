package columns

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// AllReduce combines the columns of all ranks row by row and gives every rank the result:
// row i of a column is the reduction of row i of that column on all ranks. The columns are
// of integers of 8 to 64 bits, float32 or float64, and as long on every rank; the result is
// of the same types, in the device's memory, and the caller's.
//
// A null is skipped, as the table's aggregates do: a row is the reduction of the values that
// there are, and null where no rank has one. Avg divides by the number of values of the row.
// Integers wrap, integer averages are cut towards zero, NaN is a value, and And, Or and Xor
// are for integers, all as in collective. A reduction of collective.NewOp is for columns of
// its type that have no null on any rank, float16 by one of float32: else all ranks get an
// ErrUnsupported, since nobody knows what it would make of a null. Ranks whose types,
// lengths or reductions differ get an ErrMismatch, all of them, and can go on.
//
// The host reduces; columns of a device are staged through its pinned memory.
func (t *Comm) AllReduce(ctx context.Context, types []arrow.DataType, cols []*memory.Column, op collective.Op) ([]*memory.Column, error) {
	return do(ctx, t, t.reduction("AllReduce", types, cols, op, 0))
}

// Reduce is an AllReduce whose result only the root gets; the others get nil.
func (t *Comm) Reduce(ctx context.Context, types []arrow.DataType, cols []*memory.Column, op collective.Op, root int) ([]*memory.Column, error) {
	return do(ctx, t, t.reduction("Reduce", types, cols, op, root))
}

// ReduceScatter is an AllReduce of which every rank gets some of the rows: the ranks' parts
// follow each other, as equal as can be, those of lower ranks longer by one row.
func (t *Comm) ReduceScatter(ctx context.Context, types []arrow.DataType, cols []*memory.Column, op collective.Op) ([]*memory.Column, error) {
	return do(ctx, t, t.reduction("ReduceScatter", types, cols, op, 0))
}

// numbers are the types that can be reduced.
var numbers = map[arrow.Type]collective.Type{
	arrow.INT8: collective.Int8, arrow.INT16: collective.Int16, arrow.INT32: collective.Int32, arrow.INT64: collective.Int64,
	arrow.UINT8: collective.Uint8, arrow.UINT16: collective.Uint16, arrow.UINT32: collective.Uint32, arrow.UINT64: collective.Uint64,
	arrow.FLOAT16: collective.Float16, arrow.FLOAT32: collective.Float32, arrow.FLOAT64: collective.Float64,
}

// reduction makes the job of a reduction.
func (t *Comm) reduction(call string, types []arrow.DataType, cols []*memory.Column, op collective.Op, root int) job[[]*memory.Column] {
	j := job[[]*memory.Column]{call: call, held: slices.Clone(cols), err: t.check(call, types, cols, root)}
	if j.err == nil && len(cols) != len(types) {
		j.err = device.Errorf(device.ErrMismatch, "", call, "%d columns for %d types", len(cols), len(types))
	}
	for i, typ := range types {
		n := numbers[typ.ID()]
		if j.err == nil && (n == 0 || op.String() == "" || bitwise(op) && n >= collective.Float16) {
			j.err = device.Errorf(device.ErrUnsupported, "", call, "column %d: %s of %s", i, op, typ)
		}
	}
	j.run = func(ctx context.Context) ([]*memory.Column, error) {
		if err := t.agree(ctx, call+" "+op.String(), types, root); err != nil {
			return nil, err
		}
		r := &reducing{t: t, op: op, root: root, scatter: call == "ReduceScatter", all: call != "Reduce" || t.c.Rank() == root, call: call}
		defer r.release()
		for i, c := range j.held {
			if err := r.add(ctx, numbers[types[i].ID()], c); err != nil {
				return nil, t.fail(err)
			}
		}
		if err := r.compare(ctx); err != nil {
			return nil, err
		}
		return r.run(ctx, types)
	}
	return j
}

func bitwise(op collective.Op) bool {
	if op.User() {
		return false
	}
	switch op.String() {
	case collective.And.String(), collective.Or.String(), collective.Xor.String():
		return true
	}
	return false
}
