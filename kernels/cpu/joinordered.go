package cpu

import (
	"context"
	"io"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// A join of columns in left order cuts both sides by hash, as one in any order does,
// but for that left records carry their row. So parts give pairs of a left row and
// what the right one carries, in no order but that of right rows for each left one.
// They are cut again, by pieces of left rows, into slabs (pairCuts). In a piece, which
// the second-level cache holds, rows are counted and pairs put where they belong
// (place), and left columns are gathered by rows that only rise. A pair is written and
// read once more than in any order, as 16 bytes, and no memory is asked at random.

// orderedPiece is how many left rows a piece has, if those are not more than
// cutPieces: their counters, pairs and values are 1 MiB at one pair a row. Tests
// have smaller ones.
var orderedPiece = 1 << 15

const (
	// orderedBatches is how many batches of the result are of one group of slabs,
	// which is given back as soon as they are made, side by side.
	orderedBatches = 4
	// orderedMost is how many pairs a piece has at most where pairs are limited: its
	// rows of the result come at once.
	orderedMost = 1 << 24
)

// orderedJoin is a join of columns in left order.
type orderedJoin struct {
	*columnsJoin
	cuts  *pairCuts
	batch int // pieces of a batch
	next  int // the first piece that was not given
}

// joinOrdered joins the parts, so that what is left to do is to put pairs in order.
func (l *loops) joinOrdered(ctx context.Context, j *columnsJoin, o kernels.JoinOptions) (kernels.JoinRows, error) {
	j.left.carried, j.left.numbers = nil, true
	if j.left.n == 0 || j.right.n == 0 {
		j.Release()
		return j, nil
	}
	err := j.split(ctx)
	if err != nil {
		j.Release()
		return nil, err
	}
	shift := max(bits.Len(uint(orderedPiece-1)), bits.Len64(uint64(j.left.n-1)/cutPieces))
	x := &orderedJoin{columnsJoin: j, batch: max(1, 2*j.left.room>>shift)}
	x.cuts = newPairCuts(j, uint(shift), bits.Len(uint(orderedBatches*x.batch-1)), o)
	if err := x.match(ctx); err != nil {
		x.Release()
		return nil, err
	}
	return x, nil
}

// match finds the pairs of all parts. A block is given back when its parts are done.
func (x *orderedJoin) match(ctx context.Context) error {
	scratch := x.a.scratch()
	defer scratch.free()
	rooms := stash[*joinRoom]{make: func() (*joinRoom, error) { return new(joinRoom), nil }}
	sinks := perWorker[*pairSink]{make: func() (*pairSink, error) { return newPairSink(scratch, x.cuts) }}
	open := make([]atomic.Int32, len(x.left.blocks)) // parts that are not done
	for i := range open {
		open[i].Store(1 << x.left.per)
	}
	err := tasks(ctx, 1<<x.cut, func(worker, part int) error {
		room, _ := rooms.get()
		defer rooms.put(room)
		sink, err := sinks.of(worker)
		if err == nil {
			err = x.part(ctx, scratch, room, part, sink)
		}
		if block := part >> x.left.per; open[block].Add(-1) == 0 && err == nil {
			x.left.drop(x.a, block)
			x.right.drop(x.a, block)
		}
		return err
	})
	for _, sink := range sinks.all {
		if err == nil {
			err = sink.flush()
		}
	}
	if err != nil {
		return err
	}
	return x.cuts.end()
}

// part finds the pairs of a part.
func (x *orderedJoin) part(ctx context.Context, scratch *arena, room *joinRoom, part int, sink *pairSink) error {
	if err := device.Canceled(ctx, "cpu", ""); err != nil {
		return err
	}
	left, right := x.left.part(part), x.right.part(part)
	if len(left) == 0 || len(right) == 0 {
		return nil
	}
	if err := room.build(ctx, x.l, scratch, right, x.cut); err != nil {
		return err
	}
	for step := 1; len(left) > 0; step++ {
		if step%1024 == 0 {
			if err := device.Canceled(ctx, "cpu", ""); err != nil {
				return err
			}
		}
		n := min(joinStep, len(left))
		if err := room.probe(ctx, left[:n], sink); err != nil {
			return err
		}
		left = left[n:]
	}
	return nil
}

// Next puts the pairs of the next pieces in order, those of up to orderedBatches side
// by side where so many rows are asked for. Nothing is lost by an error.
func (x *orderedJoin) Next(ctx context.Context, rows int64) ([]*memory.Column, error) {
	for len(x.ready) == 0 {
		if x.next == len(x.cuts.pairs) {
			return nil, io.EOF
		}
		if err := x.place(ctx, int(max(1, min(orderedBatches, rows>>x.cuts.shift/int64(x.batch))))); err != nil {
			return nil, err
		}
	}
	next := x.ready[0]
	x.ready = x.ready[1:]
	return next, nil
}

// orderedBatch is rows of the result on their way.
type orderedBatch struct {
	leftRows
	pieces []orderedPlace
	left   int // left rows
}

// orderedPlace is a piece of a batch.
type orderedPlace struct {
	batch     *orderedBatch
	piece, at int
	once      bool
}

// place makes the next batches.
func (x *orderedJoin) place(ctx context.Context, batches int) (err error) {
	scratch := x.a.scratch()
	defer scratch.free()
	var all []*orderedBatch
	var pieces []orderedPlace
	from := x.next
	for ; len(all) < batches && from < len(x.cuts.pairs); from += x.batch {
		b, err := x.begin(scratch, from, min(from+x.batch, len(x.cuts.pairs)))
		if err != nil {
			return err
		}
		all, pieces = append(all, b), append(pieces, b.pieces...)
	}
	rooms := stash[*vec[uint32]]{make: func() (*vec[uint32], error) {
		v, err := newVec[uint32](scratch, 1<<x.cuts.shift)
		return &v, err
	}}
	err = tasks(ctx, len(pieces), func(_, i int) error {
		counts, err := rooms.get()
		if err != nil {
			return err
		}
		defer rooms.put(counts)
		p := &pieces[i]
		p.once = x.cuts.place(p.piece, counts.s, p.at, p.batch.rows.s, p.batch.right, x.rightWidth())
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range pieces {
		p.batch.same = p.batch.same && p.once && p.batch.n == p.batch.left
	}
	var ready [][]*memory.Column
	for _, b := range all {
		if b.n == 0 {
			continue
		}
		columns, err := x.columns(ctx, &b.leftRows)
		if err != nil {
			for _, batch := range ready {
				releaseAll(batch)
			}
			return err
		}
		ready = append(ready, columns)
	}
	x.ready, x.next = ready, min(from, len(x.cuts.pairs))
	x.cuts.drop(x.next)
	return nil
}

// begin makes room for the batch of pieces [from, to).
func (x *orderedJoin) begin(a *arena, from, to int) (b *orderedBatch, err error) {
	first, last := int64(from)<<x.cuts.shift, min(x.left.n, int64(to)<<x.cuts.shift)
	b = &orderedBatch{leftRows: leftRows{from: first, same: true}, left: int(last - first)}
	for piece := from; piece < to; piece++ {
		b.pieces = append(b.pieces, orderedPlace{batch: b, piece: piece, at: b.n})
		b.n += x.cuts.pairs[piece]
	}
	if b.n > math.MaxUint32 {
		return nil, device.Errorf(device.ErrOutOfMemory, "cpu", "join_columns", "%d pairs of %d left rows side by side", b.n, b.left)
	}
	if b.rows, err = newVec[uint32](a, b.n); err == nil && x.rightWidth() > 0 {
		var v vec[byte]
		v, err = newVec[byte](a, b.n*x.rightWidth())
		b.right = v.b
	}
	return b, err
}
