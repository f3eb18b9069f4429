package cpu

import (
	"context"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// apart keeps the rows of the one key's nulls from a carrier: they need no sorting,
// for they stand together at one end in the order that they have. So words are made
// of values alone, brought together block by block, and what goes with a null is
// written in order where it ends.
type apart[R row] struct {
	key   *memory.Column
	loops *loops
	rows  []R   // what goes with nulls
	next  []int // of each piece of the rows: how many nulls it has, then where its next one goes
	ends  []int // of each piece
}

// nullsApart reports whether rows are sorted by one key of numbers that has nulls.
func nullsApart(keys []kernels.SortKey) bool {
	t := keys[0].Values.Type()
	return len(keys) == 1 && memory.LayoutOf(t) == memory.LayoutFixed && t.ID() != arrow.DECIMAL128 && hasNulls(keys[0].Values)
}

// planApart is plan for the values of a key whose nulls are apart.
func planApart[R row](ctx context.Context, k kernels.SortKey) ([]level[R], error) {
	fields, err := newFields(ctx, k, fixedWords[R](k.Values), true)
	if len(fields) == 0 {
		return nil, err
	}
	fields[0].nulls = false
	return []level[R]{{fields: fields, bits: fields[0].bits}}, err
}

// valuesAt is where the values of a key are among the sorted rows.
func valuesAt(k kernels.SortKey) (from, to int) {
	n, nulls := int(k.Values.Len()), int(nullsOf(k.Values))
	if k.NullsFirst {
		return nulls, n
	}
	return 0, n - nulls
}

// setApart has a carrier sort the rows of a key's values within words and rows,
// which are of all rows, and keep those of its nulls apart.
func (c *carrier[R]) setApart(k kernels.SortKey, words []uint64, rows []R) {
	from, to := valuesAt(k)
	c.apart = &apart[R]{key: k.Values, loops: c.loops, rows: rows[to:]}
	if k.NullsFirst {
		c.apart.rows = rows[:from]
	}
	c.whole = pairs[uint64, R]{words, rows}
	c.words, c.rows, c.first = words[from:to], rows[from:to], from
}

// fill makes the words of the values among k rows from a row on in room.cut, and
// gives how many they are.
func (a *apart[R]) fill(f *field[R], room *carryRoom[R], from int64, k int) int {
	kept := 0
	for i := 0; i < k; i += 64 {
		n := int64(min(64, k-i))
		w := validWord(a.key, from+int64(i), n)
		kept += bits.OnesCount64(w)
		memory.Bitmap(room.valid[:]).PutWord(int64(i), 64, w)
		memory.Bitmap(room.nulls[:]).PutWord(int64(i), 64, ^w&lowBits(n))
	}
	raw := room.words[:k]
	f.words.load(raw, from)
	a.loops.filter.u64(room.raw[:], raw, room.valid[:])
	words := room.cut[:kept]
	clear(words)
	f.add(words, room.raw[:kept], nil, 0)
	return kept
}

// carry brings what goes with the values of a block together, for fill's words,
// and puts what goes with its nulls in place. payload is that of k rows from a row
// on, or nil for row numbers.
func (a *apart[R]) carry(p int, room *carryRoom[R], payload []R, from int64, k, kept int) []R {
	if payload == nil {
		payload = room.number(from, k)
	}
	keep := keeperOf[R](&a.loops.filter.keepers)
	keep(room.carried[:], payload, room.valid[:])
	if at := a.next[p]; k > kept {
		keep(a.rows[at:a.ends[p]], payload, room.nulls[:])
		a.next[p] = at + k - kept
	}
	return room.carried[:kept]
}

// place turns the numbers of nulls into the places of the first of each piece.
func (a *apart[R]) place() {
	at := 0
	a.ends = make([]int, len(a.next))
	for p, nulls := range a.next {
		a.next[p], at = at, at+nulls
		a.ends[p] = at
	}
}

// clearNulls makes the values under the nulls of a sorted column, which are its
// first or last rows, 0.
func clearNulls(ctx context.Context, o *out, k kernels.SortKey) error {
	width := memory.Width(o.parts.Type)
	all := o.parts.Buffers[1].Bytes()
	from, to := valuesAt(k)
	under := all[to*width:]
	if k.NullsFirst {
		under = all[:from*width]
	}
	return parallel(ctx, int64(len(under)), func(_ int, s span) error {
		clear(under[s.from:s.to])
		return nil
	})
}
