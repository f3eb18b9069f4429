package cpu

import (
	"context"
	"io"
	"math/bits"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Two sides whose joined rows may come in any order are cut by the hashes of
// their keys into parts, and what joined rows have of a side goes with the key: a
// column's value where there is one besides the key, else the row's number. The
// right rows of a part, put in buckets by further bits of the hash, stay in the
// second-level cache while the left rows of the part look for theirs, and pairs
// leave in the order of parts. So each side is read one and a half times, written
// once and read once as records of 16 bytes, and the result is written once;
// memory is never asked at random. (The radix join of Manegold, Boncz and Kersten,
// 2002, in one pass.)
const (
	// joinPartRows is how many right rows a part has at most, if there are not
	// more than mostJoinParts of them: 256 KiB of records twice, and their buckets.
	joinPartRows  = 1 << 14
	mostJoinParts = 11 // the logarithm
	// joinGroupRows is about how many left rows are joined by one worker and
	// written side by side.
	joinGroupRows = 1 << 20
	// joinGroupPairs is after how many pairs a worker stops where keys come often
	// on both sides. It goes on in the next call.
	joinGroupPairs = 4 << 20
)

// joinRecord is a row on its way to its part: the hash of its key, which can be
// had back from it, and what it carries.
type joinRecord struct{ hash, carried uint64 }

// columnsJoin is one join.
type columnsJoin struct {
	a           *arena
	alloc       memory.Allocator
	stream      device.Stream
	cut         uint // bits of a part's number
	left, right *joinHalf
	groups      []joinGroup // that are not done, in order
	ready       [][]*memory.Column
}

// joinGroup is the parts [part, to) of which the left rows from row on are to be
// joined.
type joinGroup struct {
	part, to int
	row      int // within the first of them
}

func joinColumns(ctx context.Context, s device.Stream, left, right kernels.JoinSide, _ kernels.JoinOptions) (kernels.JoinRows, error) {
	for _, side := range []kernels.JoinSide{left, right} {
		if err := tooLong(side.Keys[0].Len()); err != nil {
			return nil, err
		}
	}
	a := newArena(s)
	j := &columnsJoin{a: a, alloc: a.alloc, stream: s, left: newJoinHalf(left), right: newJoinHalf(right)}
	j.cut = uint(max(1, min(mostJoinParts, bits.Len64(uint64(j.right.n-1)/joinPartRows))))
	if j.right.n == 0 || j.left.n == 0 {
		j.Release()
		return j, nil
	}
	err := j.right.split(ctx, a, j.cut)
	if err == nil {
		err = j.left.split(ctx, a, j.cut)
	}
	if err != nil {
		j.Release()
		return nil, err
	}
	from := 0
	for part := range 1 << j.cut {
		if rows := j.left.ends[part+1] - j.left.ends[from]; rows >= joinGroupRows || part == 1<<j.cut-1 {
			j.groups = append(j.groups, joinGroup{part: from, to: part + 1})
			from = part + 1
		}
	}
	return j, nil
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

// Next joins the next groups side by side, each into columns of its own.
func (j *columnsJoin) Next(ctx context.Context, rows int64) ([]*memory.Column, error) {
	for len(j.ready) == 0 {
		if len(j.groups) == 0 {
			return nil, io.EOF
		}
		if err := j.join(ctx, int(max(1, min(rows/joinGroupRows, int64(len(j.groups)))))); err != nil {
			return nil, err
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
	if len(j.groups) == 0 {
		j.a.free() // the records
	}
	return nil
}

// group joins the parts of a group until there are joinGroupPairs.
func (j *columnsJoin) group(ctx context.Context, scratch *arena, room *joinRoom, g *joinGroup, o *joinOut) error {
	for g.part < g.to {
		left, right := j.left.part(g.part), j.right.part(g.part)
		if len(left) > 0 && len(right) > 0 {
			if err := room.build(ctx, scratch, right, j.cut); err != nil {
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
	}
	return nil
}
