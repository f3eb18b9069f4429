package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// cross pairs each of the left rows with each right row.
func cross(ctx context.Context, s device.Stream, leftFrom, left, right int64) (*kernels.Pairs, error) {
	n := left * right
	l, err := crossSide(ctx, s, leftFrom+left, n, func(i int64) int64 { return leftFrom + i/right })
	if err != nil {
		return nil, err
	}
	r, err := crossSide(ctx, s, right, n, func(i int64) int64 { return i % right })
	if err != nil {
		l.Release()
		return nil, err
	}
	return &kernels.Pairs{Left: l, Right: r}, nil
}

// crossSide is n row numbers below rows.
func crossSide(ctx context.Context, s device.Stream, rows, n int64, row func(i int64) int64) (*memory.Column, error) {
	t := kernels.IndexType(rows)
	o := newOut(s, t, n)
	err := o.values()
	if err == nil && t.ID() == arrow.UINT32 {
		err = fillRows(ctx, view[uint32](o, 1), row)
	} else if err == nil {
		err = fillRows(ctx, view[uint64](o, 1), row)
	}
	return o.column(err)
}

func fillRows[T uint32 | uint64](ctx context.Context, dst []T, row func(i int64) int64) error {
	return parallel(ctx, int64(len(dst)), func(_ int, s span) error {
		for i := s.from; i < s.to; i++ {
			dst[i] = T(row(i))
		}
		return nil
	})
}
