package distributed

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// scarce is an allocator that fails from its n-th allocation on, once it was told to count.
type scarce struct {
	memory.Allocator
	left atomic.Int64
	on   atomic.Bool
}

func (s *scarce) Allocate(n int64) (memory.Block, error) {
	if s.on.Load() && s.left.Add(-1) < 0 {
		return memory.Block{}, &memory.OutOfMemory{Place: s.Place(), Requested: n}
	}
	return s.Allocator.Allocate(n)
}

// TestMemoryOfOneRankEnds: where memory ends on one rank, at any point of an operator, all ranks get
// one error that names it, nothing leaks, and the Comm goes on; or the operator needed no more.
func TestMemoryOfOneRankEnds(t *testing.T) {
	usual := groupLimits
	defer func() { groupLimits = usual }()
	groupLimits.few, groupLimits.sample = 3, 20
	more := append([]operator{
		{name: "intersect", ranks: func(ctx context.Context, d *Table) (*Table, error) { return d.Intersect(ctx, d) }},
		{name: "union", ranks: func(ctx context.Context, d *Table) (*Table, error) { return d.Union(ctx, d) }},
		{name: "row number", ranks: func(ctx context.Context, d *Table) (*Table, error) { return d.WithRowNumber(ctx, "row", 0) }},
		{name: "scalars", ranks: func(ctx context.Context, d *Table) (*Table, error) {
			return d.Agg(ctx, table.CountDistinct("s"), table.Sum("v"))
		}},
		{name: "even", ranks: func(ctx context.Context, d *Table) (*Table, error) { return d.Even(ctx) }},
		{name: "equal", ranks: func(ctx context.Context, d *Table) (*Table, error) {
			if _, err := d.Equal(ctx, d); err != nil {
				return nil, err
			}
			return d.Retain(), nil
		}},
	}, operators...)
	refused := 0
	for _, op := range more {
		for _, after := range []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 19, 24, 30, 45, 70, 110, 250} {
			var counting *scarce
			plenty := open(t, nil)
			poor := open(t, func(a memory.Allocator) memory.Allocator {
				counting = &scarce{Allocator: a}
				counting.left.Store(after)
				return counting
			})
			backends := func(rank int) *kernels.Backend {
				if rank == 1 {
					return poor
				}
				return plenty
			}
			var failed atomic.Int64
			for r, err := range groupOn(t, 3, backends, func(r *rank) error {
				d, err := r.spread(newSource("zipf", 1, 90, 3), "")
				if err != nil {
					return err
				}
				defer d.Release()
				if err := r.comm.Barrier(r); err != nil {
					return err
				}
				counting.on.Store(true)
				got, err := op.ranks(r, d)
				if err == nil {
					got.Release()
					return nil
				}
				failed.Add(1)
				var e *agree.Error
				require.ErrorAs(r.t, err, &e, "%s after %d", op.name, after)
				require.Equal(r.t, []int{1}, e.Ranks, "%s after %d: %v", op.name, after, err)
				require.True(r.t, errors.Is(err, device.ErrOutOfMemory) || errors.Is(err, memory.ErrOutOfMemory), "%s after %d: %v", op.name, after, err)
				return nil
			}) {
				require.NoError(t, err, "rank %d", r)
			}
			require.Contains(t, []int64{0, 3}, failed.Load(), "%s after %d: one error on all or none", op.name, after)
			if failed.Load() > 0 {
				refused++
			}
		}
	}
	require.Greater(t, refused, len(more))
}
