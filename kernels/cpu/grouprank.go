package cpu

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/volley-go/volley/memory"
)

// ranks number the groups in order of first appearance without a sort: a bit
// for each row that is the first of its group, and for each 64 rows the number
// of bits before them. The rank of a group is the number of bits before its
// first row.
type ranks struct {
	first  vec[uint64]
	before vec[uint32]
	n      int64
}

func newRanks(a *arena, rows int64) (*ranks, error) {
	words := int(rows+63) / 64
	first, err := zeroVec[uint64](a, words)
	if err != nil {
		return nil, err
	}
	before, err := newVec[uint32](a, words)
	return &ranks{first: first, before: before}, err
}

// mark notes first rows; several workers may do so at once.
func (r *ranks) mark(rows []uint32) {
	for _, row := range rows {
		atomic.OrUint64(&r.first.s[row>>6], 1<<(row&63))
	}
}

// count is called when all first rows are marked.
func (r *ranks) count() {
	r.n = 0
	for i, w := range r.first.s {
		r.before.s[i] = uint32(r.n)
		r.n += int64(bits.OnesCount64(w))
	}
}

// of is the group whose first row is row.
func (r *ranks) of(row uint32) uint32 {
	return r.before.s[row>>6] + uint32(bits.OnesCount64(r.first.s[row>>6]&(1<<(row&63)-1)))
}

// rows are the first rows, rising.
func (r *ranks) rows(ctx context.Context, a *arena) (vec[uint32], error) {
	out, err := newVec[uint32](a, int(r.n))
	if err != nil {
		return out, err
	}
	words := r.first.s
	err = parallel(ctx, int64(len(words)), func(_ int, s span) error {
		for i := s.from; i < s.to; i++ {
			k := r.before.s[i]
			for w := words[i]; w != 0; w &= w - 1 {
				out.s[k] = uint32(i<<6) + uint32(bits.TrailingZeros64(w))
				k++
			}
		}
		return nil
	})
	return out, err
}

// free gives the memory back before the end of the call.
func (r *ranks) free(a *arena) {
	a.drop(r.first.b)
	a.drop(r.before.b)
}

// indexColumn makes a column of row numbers, which leave the arena.
func indexColumn(a *arena, rows vec[uint32], valid *memory.Buffer, nulls int64) (*memory.Column, error) {
	return memory.NewColumn(memory.Parts{Type: uint32Type, Len: int64(len(rows.s)), Nulls: nulls,
		Buffers: []*memory.Buffer{valid, a.keep(rows.b)}})
}
