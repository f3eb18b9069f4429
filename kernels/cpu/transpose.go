package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// square is the side of the squares that transpose turns one by one: rows of
// either side of one fit the first-level cache.
const square = 32

func (l *loops) transpose(ctx context.Context, _ device.Stream, a, b kernels.Matrix) error {
	if a.Type.ID() == arrow.FLOAT32 {
		return turn(ctx, &l.matrix32, a, b)
	}
	return turn(ctx, &l.matrix64, a, b)
}

// turn cuts a into pieces of about a morsel and those into squares.
func turn[T float](ctx context.Context, l *matrixLoops[T], a, b kernels.Matrix) error {
	rows, cols := int(a.Rows), int(a.Cols)
	if rows == 0 || cols == 0 {
		return device.Canceled(ctx, "cpu", "")
	}
	high := max(square, min(rows, roundUp(ceil(morsel, cols), square)))
	wide := max(square, morsel/high)
	across := ceil(cols, wide)
	from, to := windowOf[T](a, false).v, windowOf[T](b, false).v
	return tasks(ctx, ceil(rows, high)*across, func(_, t int) error {
		top, left := t/across*high, t%across*wide
		for i := top; i < min(top+high, rows); i += square {
			for j := left; j < min(left+wide, cols); j += square {
				l.turnSquare(from, to, int(a.Stride), int(b.Stride), i, min(i+square, top+high, rows), j, min(j+square, left+wide, cols))
			}
		}
		return nil
	})
}

// turnSquare writes rows [i, i2) and columns [j, j2) of from to to. What is left
// of the rows by whole vectors, whose rest would overwrite others, goes one by
// one.
func (l *matrixLoops[T]) turnSquare(from, to []T, strideFrom, strideTo, i, i2, j, j2 int) {
	for ; i+l.vector <= i2; i += l.vector {
		l.interleave(to[j*strideTo+i:], strideTo, from[i*strideFrom+j:], strideFrom, l.vector, j2-j)
	}
	if i < i2 {
		interleaveLoop(to[j*strideTo+i:], strideTo, from[i*strideFrom+j:], strideFrom, i2-i, j2-j)
	}
}
