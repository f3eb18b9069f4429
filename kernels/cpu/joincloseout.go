package cpu

import (
	"context"
	"io"

	"github.com/volley-go/volley/memory"
)

// closeBatches is how many batches of the result are made side by side at most.
const closeBatches = 4

// closeBatch is rows of the result on their way.
type closeBatch struct {
	leftRows
	first int   // chunk
	found []int // pairs of each chunk
}

// Next gives the rows of the next chunks, those of up to closeBatches batches where so
// many rows are asked for. Nothing is lost by an error.
func (x *closeJoin) Next(ctx context.Context, rows int64) ([]*memory.Column, error) {
	for len(x.ready) == 0 {
		if x.next >= x.chunks {
			return nil, io.EOF
		}
		if err := x.give(ctx, int(max(1, min(closeBatches, rows>>closeChunk/int64(x.batch))))); err != nil {
			return nil, err
		}
	}
	next := x.ready[0]
	x.ready = x.ready[1:]
	return next, nil
}

// give makes the next batches.
func (x *closeJoin) give(ctx context.Context, batches int) error {
	scratch := x.a.scratch()
	defer scratch.free()
	var all []*closeBatch
	end := min(x.chunks, x.next+batches*x.batch)
	for first := x.next; first < end; first += x.batch {
		b, err := x.begin(scratch, first, min(first+x.batch, end))
		if err != nil {
			return err
		}
		all = append(all, b)
	}
	rooms := stash[*closeRoom]{make: func() (*closeRoom, error) { return new(closeRoom), nil }}
	err := tasks(ctx, end-x.next, func(_, i int) error {
		room, _ := rooms.get()
		defer rooms.put(room)
		return x.rows(ctx, room, x.next+i, all[i/x.batch])
	})
	if err != nil {
		return err
	}
	var ready [][]*memory.Column
	for _, b := range all {
		if x.gather(b); b.n == 0 {
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
	if x.ready, x.next = ready, end; end == x.chunks {
		x.a.drop(x.words.b)
		x.words = vec[uint64]{}
	}
	return nil
}

// begin makes room for the rows of chunks [first, end).
func (x *closeJoin) begin(a *arena, first, end int) (b *closeBatch, err error) {
	b = &closeBatch{first: first, found: make([]int, end-first)}
	var to int64
	b.from, _ = x.chunk(first)
	_, to = x.chunk(end - 1)
	if width := x.rightWidth(); width > 0 {
		v, err := newVec[byte](a, int(to-b.from)*width)
		if err != nil {
			return nil, err
		}
		b.right = v.b
	}
	if !x.whole {
		b.rows, err = newVec[uint32](a, int(to-b.from))
	}
	return b, err
}

// rows finds what the rows of a chunk have: from where the first of its rows is on.
func (x *closeJoin) rows(ctx context.Context, room *closeRoom, c int, b *closeBatch) error {
	places := x.begins
	if c > 0 {
		places = x.ends.s[(c-1)*x.parts:][:x.parts]
	}
	room.places = append(room.places[:0], places...)
	width := x.rightWidth()
	straight := x.whole && width == 8 // values go where they are to be at once
	from, _ := x.chunk(c)
	at := int(from - b.from)
	first := at
	err := x.eachLeft(ctx, c, room, func(row int64, words []uint64, base uint64) {
		values := room.values[:len(words)]
		if straight {
			values = memory.View[uint64](b.right)[at:][:len(words)]
		}
		x.l.retrace.back(values, words, base, x.span+1, x.shift, room.places, x.words.s)
		if !x.whole {
			values = shrinkFound(values, b.rows.s[at:], uint32(row))
		}
		if width > 0 && !straight {
			putCarried(b.right, x.right.carried, at, values)
		}
		at += len(values)
	})
	b.found[c-b.first] = at - first
	return err
}

// gather moves the rows of a batch's chunks together.
func (x *closeJoin) gather(b *closeBatch) {
	rows, width := 0, x.rightWidth()
	for i, n := range b.found {
		from, to := x.chunk(b.first + i)
		at := int(from - b.from)
		if b.n < at {
			copy(b.rows.s[b.n:], b.rows.s[at:][:n])
			if width > 0 {
				bytes := b.right.Bytes()
				copy(bytes[b.n*width:], bytes[at*width:][:n*width])
			}
		}
		b.n += n
		rows += int(to - from)
	}
	b.same = b.n == rows
}

// shrinkFound leaves out the values that are closeNone, and writes the rows of the others.
func shrinkFound(values []uint64, rows []uint32, row uint32) []uint64 {
	k := 0
	for i, v := range values {
		values[k], rows[k] = v, row+uint32(i)
		if v != closeNone {
			k++
		}
	}
	return values[:k]
}
