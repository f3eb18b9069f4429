package cpu

import (
	"context"
	"io"
	"math/bits"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Two large sides are cut by the hashes of their keys into parts, and what joined
// rows have of a side goes with the key: a column's value where there is one besides
// the key, else the row's number. In left order that is so of the right side, see
// [orderedJoin]. The right rows of a part, put in buckets by further bits of the hash,
// stay in the second-level cache while the left rows of the part look for theirs, and
// pairs leave in the order of parts. So each side is read one and a half times, written
// once and read once as records of 16 bytes, and the result is written once;
// memory is never asked at random. (The radix join of Manegold, Boncz and Kersten,
// 2002, in one pass.)
//
// The records lie in blocks of neighbouring parts, of 4 to 8 MiB for many rows. A
// block is given back as soon as its parts are joined, and results are written to
// blocks of that size: beside the records of both sides there is never more than
// what the workers are writing, and the result of all takes no more than they took.
const (
	// joinPartRows is how many right rows a part has at most, if there are not
	// more than mostJoinParts of them: 256 KiB of records twice, and their buckets.
	joinPartRows  = 1 << 14
	mostJoinParts = 11 // the logarithm
	// joinGroupBlocks is how many blocks are joined by one worker and written side
	// by side: a value of a result takes half as much as a record.
	joinGroupBlocks = 2
	// joinGroupRows is for how many rows asked for another group is joined.
	joinGroupRows = 1 << 20
	// joinGroupPairs is after how many pairs a worker stops where keys come often
	// on both sides. It goes on in the next call.
	joinGroupPairs = 4 << 20
)

// joinBlock is the least size of a block, if there are not fewer than two. It is one
// for all orders: a join finds the memory of the one before in the pool. Tests have
// smaller ones.
var joinBlock uint64 = 4 << 20

// joinRecord is a row on its way to its part: the hash of its key, which can be
// had back from it, and what it carries.
type joinRecord struct{ hash, carried uint64 }

// columnsJoin is one join.
type columnsJoin struct {
	l           *loops
	a           *arena
	alloc       memory.Allocator
	stream      device.Stream
	cut         uint // bits of a part's number
	left, right *joinHalf
	blocks      int         // of a group
	groups      []joinGroup // that are not done, in order
	ready       [][]*memory.Column
	failed      error
}

// joinGroup is the parts [part, to) of which the left rows from row on are to be
// joined.
type joinGroup struct {
	part, to int
	row      int // within the first of them
}

func (l *loops) joinColumns(ctx context.Context, s device.Stream, left, right kernels.JoinSide, o kernels.JoinOptions) (kernels.JoinRows, error) {
	for _, side := range []kernels.JoinSide{left, right} {
		if err := tooLong(side.Keys[0].Len()); err != nil {
			return nil, err
		}
	}
	a := newArena(s)
	j := &columnsJoin{l: l, a: a, alloc: a.alloc, stream: s, left: newJoinHalf(left), right: newJoinHalf(right)}
	if o.Distinct {
		x, err := l.joinClose(ctx, j, o)
		if err != nil {
			j.Release()
			return nil, err
		}
		if x != nil {
			return x, nil
		}
	}
	if !o.AnyOrder {
		return l.joinOrdered(ctx, j, o)
	}
	if j.right.n == 0 || j.left.n == 0 {
		j.Release()
		return j, nil
	}
	if err := j.split(ctx); err != nil {
		j.Release()
		return nil, err
	}
	if j.blocks = joinGroupBlocks; len(j.left.blocks) == 2 {
		j.blocks = 1 // for two workers
	}
	step := j.blocks << j.left.per
	for part := 0; part < 1<<j.cut; part += step {
		j.groups = append(j.groups, joinGroup{part: part, to: part + step})
	}
	return j, nil
}

// split makes the records of both sides, of one row at least, in blocks of
// joinBlock bytes or up to twice as many.
func (j *columnsJoin) split(ctx context.Context) error {
	j.cut = uint(max(1, min(mostJoinParts, bits.Len64(uint64(j.right.n-1)/joinPartRows))))
	most := uint64(max(j.left.n, j.right.n)) * 16
	blocks := min(j.cut, uint(max(1, bits.Len64(most/joinBlock)-1)))
	err := j.right.split(ctx, j.l, j.a, 1<<j.cut, j.cut-blocks, hashCut(j.cut))
	if err == nil {
		err = j.left.split(ctx, j.l, j.a, 1<<j.cut, j.cut-blocks, hashCut(j.cut))
	}
	return err
}

// Release gives back the records and what was not asked for.
func (j *columnsJoin) Release() {
	j.a.free()
	for _, batch := range j.ready {
		releaseAll(batch)
	}
	j.groups, j.ready = nil, nil
	j.left.release()
	j.right.release()
}

func releaseAll(columns []*memory.Column) {
	for _, c := range columns {
		c.Release()
	}
}

// Next joins the next groups side by side, each into columns of its own. After an
// error, when some of their blocks are gone, it gives that error again.
func (j *columnsJoin) Next(ctx context.Context, rows int64) ([]*memory.Column, error) {
	for len(j.ready) == 0 {
		if j.failed != nil {
			return nil, j.failed
		}
		if len(j.groups) == 0 {
			return nil, io.EOF
		}
		if j.failed = j.join(ctx, int(max(1, min(rows/joinGroupRows, int64(len(j.groups)))))); j.failed != nil {
			return nil, j.failed
		}
	}
	next := j.ready[0]
	j.ready = j.ready[1:]
	return next, nil
}

func (j *columnsJoin) join(ctx context.Context, n int) error {
	scratch := j.a.scratch()
	defer scratch.free()
	rooms := stash[*joinRoom]{make: func() (*joinRoom, error) { return new(joinRoom), nil }}
	after := append([]joinGroup(nil), j.groups[:n]...)
	outs := make([]*joinOut, n)
	err := tasks(ctx, n, func(_, i int) error {
		room, _ := rooms.get()
		defer rooms.put(room)
		outs[i] = newJoinOut(j)
		return j.group(ctx, scratch, room, &after[i], outs[i])
	})
	var ready [][]*memory.Column
	for _, o := range outs {
		if err != nil {
			break
		}
		var batches [][]*memory.Column
		batches, err = o.columns(ctx)
		ready = append(ready, batches...)
	}
	for _, o := range outs {
		if o != nil {
			o.a.free()
		}
	}
	if err != nil {
		for _, batch := range ready {
			releaseAll(batch)
		}
		return err
	}
	var open []joinGroup
	for _, g := range after {
		if g.part < g.to {
			open = append(open, g)
		}
	}
	j.ready, j.groups = ready, append(open, j.groups[n:]...)
	return nil
}

// group joins the parts of a group until there are joinGroupPairs.
func (j *columnsJoin) group(ctx context.Context, scratch *arena, room *joinRoom, g *joinGroup, o *joinOut) error {
	for g.part < g.to {
		left, right := j.left.part(g.part), j.right.part(g.part)
		if len(left) > 0 && len(right) > 0 {
			if err := room.build(ctx, j.l, scratch, right, j.cut); err != nil {
				return err
			}
			for step := 0; g.row < len(left); step++ {
				if step%1024 == 0 {
					if err := device.Canceled(ctx, "cpu", ""); err != nil {
						return err
					}
				}
				n := min(joinStep, len(left)-g.row)
				if err := room.probe(ctx, left[g.row:][:n], o); err != nil {
					return err
				}
				if g.row += n; o.rows >= joinGroupPairs {
					return nil
				}
			}
		} else if err := device.Canceled(ctx, "cpu", ""); err != nil {
			return err
		}
		g.part, g.row = g.part+1, 0
		if per := j.left.per; g.part&(1<<per-1) == 0 {
			j.left.drop(j.a, g.part>>per-1)
			j.right.drop(j.a, g.part>>per-1)
		}
	}
	return nil
}
