package table

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
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

// joinOp is a join that is no step: of all pairs, and one that gives right rows without
// a match after all others. It takes the left rows slice by slice.
type joinOp struct {
	*probeStep
	left  operator
	seen  memory.Bitmap // right rows that matched, for right and full joins
	batch *Batch        // the left batch in work, from row at on
	at    int64
	step  int64 // left rows of a slice, pairs of a cross join, where memory is short; 0 is probeRows
	row   int64 // of a cross join: the right row to go on with
	ended bool
}

func (o *joinOp) close() {
	o.left.close()
	o.probeStep.Close()
	o.batch.Release()
}

func (o *joinOp) next(ctx context.Context) (*Batch, error) {
	if o.build == nil {
		if _, err := o.prepare(ctx); err != nil {
			return nil, wrapError("join", err)
		}
		if o.node.kind != Cross {
			o.seen = make(memory.Bitmap, memory.BitmapBytes(o.build.Len()))
		}
	}
	for {
		if err := device.Canceled(ctx, o.r.backend.Device.Name(), "join"); err != nil {
			return nil, err
		}
		slice, err := o.slice(ctx)
		if err == io.EOF {
			return o.unmatched(ctx)
		}
		if err != nil {
			return nil, err
		}
		var out *Batch
		at, row, size, least := o.at-slice.Len(), int64(0), slice.Len(), int64(1)
		if o.node.kind == Cross {
			at, row, least = o.at, o.row, crossLeast
			out, size, err = o.cross(ctx, slice)
		} else {
			out, err = o.probe(ctx, slice, o.seen)
		}
		slice.Release()
		if errors.Is(err, device.ErrOutOfMemory) && size > least {
			o.at, o.row, o.step = at, row, size/2        // the same rows again, fewer at a time
			if err := o.r.stream.Wait(ctx); err != nil { // what was launched holds the memory that it uses
				return nil, wrapError("join", err)
			}
			continue
		}
		if err != nil {
			return nil, wrapError("join", err)
		}
		if o.step > 0 && out.Len() < probePairs/4 {
			o.step *= 2
		}
		if out.Len() > 0 {
			return out, nil
		}
		out.Release()
	}
}

// slice is the next left rows to work on.
func (o *joinOp) slice(ctx context.Context) (*Batch, error) {
	for o.batch == nil || o.at >= o.batch.Len() {
		o.batch.Release()
		o.batch, o.at, o.row = nil, 0, 0
		b, err := o.left.next(ctx)
		if err != nil {
			return nil, err
		}
		o.batch = b
	}
	n := min(o.r.limit(probeRows), o.batch.Len()-o.at)
	if o.step > 0 {
		n = min(n, o.step)
	}
	if o.node.kind == Cross { // cross goes on by itself
		return o.batch.Retain(), nil
	}
	s, err := o.batch.Slice(o.at, n)
	o.at += n
	return s, err
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

// cross pairs as many left rows with as many right rows as probeRows allows:
// whole right sides while they are small, else one left row with some of the
// right rows. It also gives the number of pairs that it went for.
func (o *joinOp) cross(ctx context.Context, b *Batch) (*Batch, int64, error) {
	right := o.build.Len()
	if right == 0 {
		o.at = b.Len()
		none, err := o.r.empty(ctx, o.node.out)
		return none, 0, err
	}
	most := o.r.limit(probeRows)
	if o.step > 0 {
		most = min(most, o.step)
	}
	left, some, from := int64(1), right, o.row
	switch {
	case from > 0 || right > most:
		some = min(most, right-from)
	default:
		left = min(most/right, b.Len()-o.at)
	}
	at := o.at
	if o.row += some; o.row >= right {
		o.row = 0
		o.at += left
	}
	out, err := o.crossed(ctx, b, at, left, from, some)
	return out, left * some, err
}

// crossed pairs left rows from at on with some right rows.
func (o *joinOp) crossed(ctx context.Context, b *Batch, at, left, from, some int64) (*Batch, error) {
	slice, err := b.Slice(at, left)
	if err != nil {
		return nil, err
	}
	defer slice.Release()
	pairs, err := o.r.backend.Cross(ctx, o.r.stream, 0, left, some)
	if err != nil {
		return nil, err
	}
	defer pairs.Release()
	whole := o.build
	if o.build, err = whole.Slice(from, some); err != nil {
		o.build = whole
		return nil, err
	}
	out, err := o.gather(ctx, slice, pairs)
	o.build.Release()
	o.build = whole
	return out, err
}

// unmatched is, for right and full joins, the right rows without a match, and
// then io.EOF.
func (o *joinOp) unmatched(ctx context.Context) (*Batch, error) {
	if o.ended || o.seen == nil {
		return nil, io.EOF
	}
	o.ended = true
	missed := o.build.Len() - o.seen.Count(0, o.build.Len())
	if missed == 0 {
		return nil, io.EOF
	}
	pairs, err := o.missedPairs(ctx, missed)
	if err != nil {
		return nil, wrapError("join", err)
	}
	defer pairs.Release()
	none, err := o.r.empty(ctx, o.node.left.schema())
	if err != nil {
		return nil, wrapError("join", err)
	}
	defer none.Release()
	out, err := o.gather(ctx, none, pairs)
	return out, wrapError("join", err)
}

// missedPairs are the right rows that no left row matched, each with no left
// row.
func (o *joinOp) missedPairs(ctx context.Context, missed int64) (*kernels.Pairs, error) {
	alloc, t := o.r.backend.Device.Pinned(), kernels.IndexType(o.build.Len())
	width := int64(memory.Width(t))
	rows, err := memory.New(alloc, missed*width)
	if err != nil {
		return nil, err
	}
	k := 0
	for i := range o.build.Len() {
		if o.seen.Get(i) {
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
