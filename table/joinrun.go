package table

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// probeRows is how many left rows, and how many pairs of a cross join, are
// worked on at a time: the row numbers of the matches, and the columns that
// they gather, then take memory for these rows only.
const probeRows = 1 << 20

// crossLeast is how many pairs of a cross join are worked on at least, however
// short memory is: a few at a time it would not end before anybody lost patience.
const crossLeast = 1 << 14

// probePairs is how many pairs a slice of left rows may give before it is cut
// in halves, down to one row: where keys repeat on both sides the pairs are many
// times the rows.
const probePairs = 16 * probeRows

// Tails reports whether the join gives right rows without a match.
func (o *probeStep) Tails() bool { return o.node.kind == Right || o.node.kind == Full }

// Tail is the right rows without a match in any worker.
func (o *probeStep) Tail(ctx context.Context) (exec.Source, error) {
	seen := make(memory.Bitmap, memory.BitmapBytes(o.build.Len()))
	o.lock.Lock()
	for _, own := range o.seen {
		for i, b := range own {
			seen[i] |= b
		}
	}
	o.lock.Unlock()
	out, err := o.unmatched(ctx, seen)
	if err != nil {
		return nil, wrapError("join", err)
	}
	return exec.Batches(out), nil
}

// unmatched is the right rows that are not in seen.
func (o *probeStep) unmatched(ctx context.Context, seen memory.Bitmap) (*Batch, error) {
	missed := o.build.Len() - seen.Count(0, o.build.Len())
	if missed == 0 {
		return o.r.empty(ctx, o.node.out)
	}
	pairs, err := o.missedPairs(ctx, seen, missed)
	if err != nil {
		return nil, err
	}
	defer pairs.Release()
	none, err := o.r.empty(ctx, o.node.left.schema())
	if err != nil {
		return nil, err
	}
	defer none.Release()
	return o.gather(ctx, none, o.build, pairs)
}

// mark sets the bits of rows.
func mark(seen memory.Bitmap, rows *memory.Column) {
	if rows.Type().ID() == arrow.UINT64 {
		markRows(seen, rows, memory.Values[uint64](rows))
		return
	}
	markRows(seen, rows, memory.Values[uint32](rows))
}

func markRows[T uint32 | uint64](seen memory.Bitmap, rows *memory.Column, values []T) {
	if !rows.MayHaveNulls() {
		for _, v := range values {
			seen.Set(int64(v))
		}
		return
	}
	for i, v := range values {
		if !rows.IsNull(int64(i)) {
			seen.Set(int64(v))
		}
	}
}

// crossState pairs all left rows with all right ones.
type crossState struct{ *probeStep }

func (s crossState) Close() {}

// Execute pairs as many left rows with as many right rows as probeRows allows, and fewer
// where memory is short: whole right sides while they are small, else one left row with some
// of the right rows.
func (s crossState) Execute(ctx context.Context, b *Batch, emit func(*Batch) error) error {
	defer b.Release()
	right, most := s.build.Len(), s.r.limit(probeRows)
	step, row := most, int64(0)
	for at := int64(0); at < b.Len() && right > 0; {
		if err := device.Canceled(ctx, s.r.backend.Device.Name(), "join"); err != nil {
			return err
		}
		left, some := int64(1), right
		if row > 0 || right > step {
			some = min(step, right-row)
		} else {
			left = min(step/right, b.Len()-at)
		}
		out, err := s.crossed(ctx, b, at, left, row, some)
		if size := left * some; errors.Is(err, device.ErrOutOfMemory) && size > crossLeast {
			step = size / 2
			if err := s.r.stream.Wait(ctx); err != nil { // what was launched holds the memory that it uses
				return wrapError("join", err)
			}
			continue
		}
		if err != nil {
			return wrapError("join", err)
		}
		if row += some; row >= right {
			row, at = 0, at+left
		}
		if step < most && out.Len() < probePairs/4 {
			step *= 2
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

// crossed pairs left rows from at on with some right rows.
func (s crossState) crossed(ctx context.Context, b *Batch, at, left, from, some int64) (*Batch, error) {
	rows, err := b.Slice(at, left)
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	right, err := s.build.Slice(from, some)
	if err != nil {
		return nil, err
	}
	defer right.Release()
	pairs, err := s.r.backend.Cross(ctx, s.r.stream, 0, left, some)
	if err != nil {
		return nil, err
	}
	defer pairs.Release()
	return s.gather(ctx, rows, right, pairs)
}

// missedPairs are the right rows that no left row matched, each with no left
// row.
func (o *probeStep) missedPairs(ctx context.Context, seen memory.Bitmap, missed int64) (*kernels.Pairs, error) {
	alloc, t := o.r.backend.Device.Pinned(), kernels.IndexType(o.build.Len())
	width := int64(memory.Width(t))
	rows, err := memory.New(alloc, missed*width)
	if err != nil {
		return nil, err
	}
	k := 0
	for i := range o.build.Len() {
		if seen.Get(i) {
			continue
		}
		if width == 4 {
			memory.View[uint32](rows)[k] = uint32(i)
		} else {
			memory.View[uint64](rows)[k] = uint64(i)
		}
		k++
	}
	right, err := memory.NewColumn(memory.Parts{Type: t, Len: missed, Buffers: []*memory.Buffer{nil, rows}, Place: alloc.Place()})
	if err != nil {
		return nil, err
	}
	defer right.Release()
	left, err := nullRows(alloc, missed)
	if err != nil {
		return nil, err
	}
	defer left.Release()
	p := &kernels.Pairs{}
	if p.Left, err = o.r.backend.OnDevice(ctx, o.r.stream, left); err == nil {
		p.Right, err = o.r.backend.OnDevice(ctx, o.r.stream, right)
	}
	if err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// nullRows is n row numbers that are all null.
func nullRows(alloc memory.Allocator, n int64) (*memory.Column, error) {
	valid, err := memory.NewZeroed(alloc, memory.BitmapBytes(n))
	if err != nil {
		return nil, err
	}
	values, err := memory.NewZeroed(alloc, n*4)
	if err != nil {
		valid.Release()
		return nil, err
	}
	return memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Uint32, Len: n, Nulls: n, Buffers: []*memory.Buffer{valid, values}})
}
