package cpu

import (
	"context"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/volley-go/volley/device"
)

// Groups in order of first appearance are tallied as those in any order are, as
// long as no value is null: a group then has as many values as rows, and where
// their count would be there is room for its first row. Chunks are added in the
// order of rows, and the rows of a part stay in order, so that the first row that
// a tally meets is the group's first. At the end groups are put in its order.

// begin notes the first row of a group that had none.
func (t *tally[S]) begin(row uint32) {
	if t.counts == 0 {
		t.counts = uint64(row) << 32
	}
}

// add adds the tally of later rows.
func (t *tally[S]) add(later tally[S], firsts bool) {
	t.sum += later.sum
	if firsts && t.counts != 0 {
		later.counts = uint64(uint32(later.counts))
	}
	t.counts += later.counts
}

// incOf is what a row with a value adds to counts.
func incOf(rows []uint32) uint64 {
	if rows != nil {
		return oneRow
	}
	return oneValue
}

// numbers are the rows of a batch where first rows are wanted.
func (t *tallying[S]) numbers(b *tallyBatch[S]) []uint32 {
	if !t.firsts {
		return nil
	}
	return b.rowNumbers()
}

func (b *tallyBatch[S]) rowNumbers() []uint32 {
	if b.rows != nil {
		return b.rows
	}
	rows := b.numbers[:b.n]
	for j := range rows {
		rows[j] = b.from + uint32(j)
	}
	return rows
}

// foldFirsts is foldDense where first rows are wanted.
func foldFirsts[S float64 | int64](array []tally[S], words []uint64, base uint64, sums []S, rows []uint32) bool {
	sums, rows = sums[:len(words)], rows[:len(words)]
	if inRuns(words) {
		for j := 0; j < len(words); {
			w := words[j]
			if w-base >= uint64(len(array)) {
				return false
			}
			at := &array[w-base]
			at.begin(rows[j])
			sum, from := at.sum, j
			for j < len(words) && words[j] == w {
				sum += sums[j]
				j++
			}
			at.sum = sum
			at.counts += uint64(j-from) * oneRow
		}
		return true
	}
	for j, w := range words {
		w -= base
		if w >= uint64(len(array)) {
			return false
		}
		at := &array[w]
		at.sum += sums[j]
		first, counts := uint64(rows[j])<<32, at.counts
		if counts != 0 {
			first = 0
		}
		at.counts = counts + first + oneRow
	}
	return true
}

// listOf are the groups of an array: place i is the word first+i.
func listOf[S float64 | int64](a *arena, array []tally[S], first uint64) (vec[tallySlot[S]], error) {
	n := 0
	for i := range array {
		n += int(differs(array[i].counts, 0))
	}
	list, err := newVec[tallySlot[S]](a, n)
	if err != nil {
		return list, err
	}
	k := 0
	for i := range array {
		if t := &array[i]; t.counts != 0 {
			list.s[k] = tallySlot[S]{first + uint64(i), *t}
			k++
		}
	}
	return list, nil
}

// countsOf are the counts of a tallySlot or a textSlot, the last of its fields.
func countsOf[E any](e *E) *uint64 {
	return (*uint64)(unsafe.Add(unsafe.Pointer(e), unsafe.Sizeof(*e)-8))
}

// fewRanked is how many groups are put in order at once. Tests have fewer.
var fewRanked int64 = 1 << 16

const (
	rankedPiece = 1 << 14 // those that are put in order within a second-level cache
	rankedParts = 1 << 10
)

// byFirst puts groups, which have their first rows above their counts, in the
// order of these, and counts of values in their place. Where groups are many they
// are cut by rank into pieces that caches hold: it moves each of them three times.
func byFirst[E any](ctx context.Context, a *arena, rows int64, lists []vec[E]) ([]vec[E], error) {
	r, err := newRanks(a, rows)
	if err != nil {
		return nil, err
	}
	defer r.free(a)
	err = tasks(ctx, len(lists), func(_, i int) error {
		for k := range lists[i].s {
			row := *countsOf(&lists[i].s[k]) >> 32
			atomic.OrUint64(&r.first.s[row>>6], 1<<(row&63))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.count()
	all, err := newVec[E](a, int(r.n))
	if err != nil {
		return nil, err
	}
	shift := max(bits.Len(rankedPiece-1), bits.Len(uint(r.n-1)/rankedParts))
	pieces := (int(r.n)-1)>>shift + 1
	next := make([]atomic.Uint32, pieces)
	for i := range next {
		next[i].Store(uint32(i << shift))
	}
	err = tasks(ctx, len(lists), func(_, i int) error {
		list := lists[i].s
		if r.n <= fewRanked {
			for k := range list {
				counts := countsOf(&list[k])
				rank := r.of(uint32(*counts >> 32))
				*counts = uint64(uint32(*counts)) * oneValue
				all.s[rank] = list[k]
			}
		} else {
			cutByRank(r, list, all.s, next, uint(shift))
		}
		a.drop(lists[i].b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if r.n > fewRanked {
		if err := inPieces(ctx, a, all.s, 1<<shift); err != nil {
			return nil, err
		}
	}
	out := make([]vec[E], 0, pieces)
	for from := 0; from < len(all.s); from += 1 << shift {
		out = append(out, vec[E]{s: all.s[from:min(from+1<<shift, len(all.s))]})
	}
	return out, nil
}

// cutByRank writes a list to the pieces of all groups, with ranks in place of first
// rows. Where in a piece is left to chance.
func cutByRank[E any](r *ranks, list, all []E, next []atomic.Uint32, shift uint) {
	at := make([]uint32, len(next))
	for k := range list {
		counts := countsOf(&list[k])
		rank := r.of(uint32(*counts >> 32))
		*counts = uint64(rank)<<32 | uint64(uint32(*counts))
		at[rank>>shift]++
	}
	for i, n := range at {
		if n > 0 {
			at[i] = next[i].Add(n) - n
		}
	}
	for k := range list {
		to := &at[*countsOf(&list[k])>>32>>shift]
		all[*to] = list[k]
		*to++
	}
}

// inPieces puts the groups of each piece in the order of their ranks.
func inPieces[E any](ctx context.Context, a *arena, all []E, size int) error {
	rooms := perWorker[vec[E]]{make: func() (vec[E], error) { return newVec[E](a, size) }}
	err := tasks(ctx, (len(all)+size-1)/size, func(worker, i int) error {
		room, err := rooms.of(worker)
		if err != nil {
			return err
		}
		from := i * size
		piece := all[from:min(from+size, len(all))]
		for k := range piece {
			e := &piece[k]
			counts := countsOf(e)
			to := *counts>>32 - uint64(from)
			*counts = uint64(uint32(*counts)) * oneValue
			room.s[to] = *e
		}
		copy(piece, room.s)
		return device.Canceled(ctx, "cpu", "")
	})
	for _, room := range rooms.all {
		a.drop(room.b)
	}
	return err
}
