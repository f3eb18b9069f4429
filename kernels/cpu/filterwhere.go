package cpu

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// whereRows is how many rows are worth a sample before they are filtered.
const whereRows = 8 * morsel

// A sample of a condition is so many runs of so many rows, spread evenly.
const (
	whereSamples = 16
	whereSample  = 1 << 10
)

// errMoreKept stops filterWhere where more rows are kept than there is room
// for.
const errMoreKept = detour("cpu: more rows are kept than a sample of them told")

// placeFunc writes the kept ones of rows [from, to), whose number and mask are
// given, at a place of the result.
type placeFunc func(at, kept, from, to int64, mask []byte)

// filterWhere is the CPU's FilterWhereFunc for columns of fixed width without
// nulls. A worker makes the mask of a morsel, learns where the rows before it
// end, and writes its rows there while the columns that the condition has read
// are in the second-level cache: every column is read from memory once and the
// result written once. As the number of rows kept is not known before, room is
// made for as many as a sample tells and a sixteenth of all rows.
func (l *loops) filterWhere(ctx context.Context, s device.Stream, columns []*memory.Column, mask kernels.MaskFunc) (kept []*memory.Column, done bool, err error) {
	n := columns[0].Len()
	for _, c := range columns {
		if memory.LayoutOf(c.Type()) != memory.LayoutFixed || c.MayHaveNulls() || n < whereRows {
			return nil, false, nil
		}
	}
	share, err := sampleMask(ctx, n, mask)
	if err != nil || share == 1 {
		return nil, false, err
	}
	room := min(n, int64(share*float64(n))+n/16)
	outs, places := make([]*out, len(columns)), make([]placeFunc, len(columns))
	defer func() {
		for _, o := range outs {
			if o != nil {
				o.parts.Buffers[1].Release()
			}
		}
	}()
	for i, c := range columns {
		outs[i] = newOut(s, c.Type(), room)
		err := outs[i].values()
		if errors.Is(err, memory.ErrOutOfMemory) { // Filter may take less
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		places[i] = l.placer(outs[i], c)
	}
	rows, err := placeAll(ctx, n, room, mask, places)
	if errors.Is(err, errMoreKept) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	for _, o := range outs {
		c, err := o.cut(ctx, rows)
		if err != nil {
			for _, c := range kept {
				c.Release()
			}
			return nil, false, err
		}
		kept = append(kept, c)
	}
	return kept, true, nil
}

// sampleMask is the share of rows that a mask keeps of a sample.
func sampleMask(ctx context.Context, n int64, mask kernels.MaskFunc) (float64, error) {
	kept := int64(0)
	for i := range int64(whereSamples) {
		m, err := mask(ctx, n/whereSamples*i, whereSample)
		if err != nil {
			return 0, err
		}
		sel := maskOf(m)
		kept += sel.countOf(0, whereSample)
		m.Release()
	}
	return float64(kept) / (whereSamples * whereSample), nil
}

// maskOf is the selection of a mask that is not counted by morsels.
func maskOf(m *memory.Column) *selection {
	sel := &selection{n: m.Len(), mask: m.Bits(), maskAt: m.Offset()}
	if v := m.Validity(); v != nil {
		sel.valid, sel.validAt = v, m.Offset()
	}
	return sel
}

func (l *loops) placer(o *out, c *memory.Column) placeFunc {
	switch memory.Width(c.Type()) {
	case 1:
		return placeWidth[uint8](l, o, c)
	case 2:
		return placeWidth[uint16](l, o, c)
	case 4:
		return placeWidth[uint32](l, o, c)
	case 8:
		return placeWidth[uint64](l, o, c)
	default:
		return placeWidth[[2]uint64](l, o, c)
	}
}

func placeWidth[T any](l *loops, o *out, c *memory.Column) placeFunc {
	src, dst, keep := memory.Values[T](c), view[T](o, 1), keeperFor[T](l, c)
	return func(at, kept, from, to int64, mask []byte) {
		if kept > 0 {
			keep(dst[at:at+kept], src[from:to], mask)
		}
	}
}

// placeAll makes the mask of every morsel and places its rows behind those of
// the morsels before. It gives the number of all that are kept.
func placeAll(ctx context.Context, n, room int64, mask kernels.MaskFunc, places []placeFunc) (int64, error) {
	ends := make([]atomic.Int64, morsels(n)+1) // of the morsels before, and 1; 0 while that is not known
	ends[0].Store(1)
	var failed atomic.Bool
	err := inOrder(ctx, n, func(_ int, p span) error {
		well := false
		defer func() { // also of a panic, lest others wait for it
			if !well {
				failed.Store(true)
			}
		}()
		m, err := mask(ctx, p.from, p.to-p.from)
		if err != nil {
			return err
		}
		defer m.Release()
		sel, size := maskOf(m), p.to-p.from
		kept := sel.countOf(0, size)
		at, err := await(ctx, &ends[p.index], &failed)
		if err != nil || at < 0 {
			return err
		}
		ends[p.index+1].Store(at + kept + 1)
		if at+kept > room {
			return errMoreKept
		}
		bits := sel.bytes(span{0, size, 0})
		for _, place := range places {
			place(at, kept, p.from, p.to, bits)
		}
		well = true
		return nil
	})
	return ends[len(ends)-1].Load() - 1, err
}

// await is where the rows of the morsels before end, or -1 where one of them
// failed, whose error is the one to tell. They were begun before, each by a
// worker that is at it: it is a matter of microseconds, or of the system's time
// slices.
func await(ctx context.Context, end *atomic.Int64, failed *atomic.Bool) (int64, error) {
	for tries := 0; ; tries++ {
		if at := end.Load(); at > 0 {
			return at - 1, nil
		}
		switch {
		case failed.Load():
			return -1, nil
		case tries < 100:
			runtime.Gosched()
		default:
			if err := device.Canceled(ctx, "cpu", ""); err != nil {
				return -1, err
			}
			time.Sleep(10 * time.Microsecond)
		}
	}
}

// cut is the column of the first rows of the values that are there: the same
// buffer, unless more than half of it is room.
func (o *out) cut(ctx context.Context, rows int64) (*memory.Column, error) {
	width := int64(memory.Width(o.parts.Type))
	all := o.parts.Buffers[1]
	parts := memory.Parts{Type: o.parts.Type, Len: rows, Buffers: []*memory.Buffer{nil, nil}, Place: memory.Host}
	var err error
	if 2*rows > o.parts.Len {
		parts.Buffers[1], err = all.Slice(0, rows*width)
	} else {
		parts.Buffers[1], err = memory.New(o.alloc, rows*width)
		if err == nil {
			err = parallel(ctx, rows, func(_ int, p span) error {
				copy(parts.Buffers[1].Bytes()[p.from*width:p.to*width], all.Bytes()[p.from*width:])
				return nil
			})
		}
	}
	if err != nil {
		parts.Buffers[1].Release()
		return nil, err
	}
	return memory.NewColumn(parts)
}
