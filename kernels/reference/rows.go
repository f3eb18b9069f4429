package reference

import (
	"fmt"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// at is row i of a column, or the scalar: what the reference loops read.
func at(d kernels.Datum, i int64) kernels.Scalar {
	if c, ok := d.(*memory.Column); ok {
		return kernels.ScalarAt(c, i)
	}
	return d.(kernels.Scalar)
}

// rows is the number of rows of the first column among ds.
func rows(ds ...kernels.Datum) int64 {
	for _, d := range ds {
		if c, ok := d.(*memory.Column); ok {
			return c.Len()
		}
	}
	return 0
}

// wrongValue is an ErrValue with a text; BuildColumn names the row.
func wrongValue(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{device.ErrValue}, args...)...)
}

// hostMemory is where a kernel on the host puts its results.
func hostMemory(s device.Stream) memory.Allocator { return s.Device().Memory() }

// indexColumn is row numbers below n as a column; -1 is a null. It makes no Scalar for
// each: pairs of a join are millions.
func indexColumn(s device.Stream, n int64, rows []int64) (_ *memory.Column, err error) {
	from, t := hostMemory(s), kernels.IndexType(n)
	p := memory.Parts{Type: t, Len: int64(len(rows)), Place: from.Place(), Buffers: []*memory.Buffer{nil, nil}}
	for _, r := range rows {
		if r < 0 {
			p.Nulls++
		}
	}
	if p.Buffers[1], err = memory.NewZeroed(from, int64(memory.Width(t))*p.Len); err != nil {
		return nil, err
	}
	if memory.Width(t) == 4 {
		putIndices(memory.View[uint32](p.Buffers[1]), rows)
	} else {
		putIndices(memory.View[uint64](p.Buffers[1]), rows)
	}
	if p.Nulls > 0 {
		if p.Buffers[0], err = memory.NewZeroed(from, memory.BitmapBytes(p.Len)); err != nil {
			p.Buffers[1].Release()
			return nil, err
		}
		valid := memory.Bitmap(p.Buffers[0].Bytes())
		for i, r := range rows {
			valid.Put(int64(i), r >= 0)
		}
	}
	return memory.NewColumn(p)
}

func putIndices[T uint32 | uint64](to []T, rows []int64) {
	for i, r := range rows {
		to[i] = T(max(r, 0))
	}
}
