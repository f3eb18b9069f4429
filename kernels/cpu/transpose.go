package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// square is the side of the squares that transpose turns one by one: rows of
// either side of one fit the first-level cache.
const square = 32

func transpose(ctx context.Context, _ device.Stream, a, b kernels.Matrix) error {
	if a.Type.ID() == arrow.FLOAT32 {
		return turn[uint32](ctx, a, b)
	}
	return turn[uint64](ctx, a, b)
}

// turn cuts a into pieces of about a morsel and those into squares.
func turn[T uint32 | uint64](ctx context.Context, a, b kernels.Matrix) error {
	rows, cols := int(a.Rows), int(a.Cols)
	if rows == 0 || cols == 0 {
		return device.Canceled(ctx, "cpu", "")
	}
	high := max(square, min(rows, roundUp(ceil(morsel, cols), square)))
	wide := max(square, morsel/high)
	across := ceil(cols, wide)
	from, to := memory.View[T](a.Data)[a.Offset:], memory.View[T](b.Data)[b.Offset:]
	return tasks(ctx, ceil(rows, high)*across, func(_, t int) error {
		top, left := t/across*high, t%across*wide
		for i := top; i < min(top+high, rows); i += square {
			for j := left; j < min(left+wide, cols); j += square {
				turnSquare(from, to, int(a.Stride), int(b.Stride), i, min(i+square, top+high, rows), j, min(j+square, left+wide, cols))
			}
		}
		return nil
	})
}

// turnSquare writes rows [i, i2) and columns [j, j2) of from to to.
func turnSquare[T uint32 | uint64](from, to []T, strideFrom, strideTo, i, i2, j, j2 int) {
	for c := j; c < j2; c++ {
		row := to[c*strideTo:][i:i2]
		at := i*strideFrom + c
		for k := range row {
			row[k] = from[at]
			at += strideFrom
		}
	}
}
