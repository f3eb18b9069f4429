package cpu

import "sync"

// batchRows is how many rows the hashing kernels take at a time: keys, group
// numbers and row numbers of a batch stay in the first-level cache.
const batchRows = 1 << 10

// batch is a run of rows on its way through a hashing kernel.
type batch struct {
	n    int
	from uint32   // rows [from, from+n), unless
	rows []uint32 // these are not nil

	words [batchRows]uint64 // the key of each row
	ids   [batchRows]uint32 // its group, or what a find found
	skip  [batchRows]bool   // no key: null where nulls match nothing, or no such key on the other side
	part  [batchRows]uint64 // of one column, while keys are hashed
	own   [batchRows]uint32 // room for rows
	value [batchRows]uint32 // room for the rows of an aggregate that are not null
	group [batchRows]uint32 // and their groups

	marks [batchRows / 8]byte // a bit for each row
}

// batchPool keeps batches from one call to the next. A kernel over one morsel may take
// less time than the runtime does to make and clear one, which is above the size of
// what it keeps in lists.
var batchPool = sync.Pool{New: func() any { return new(batch) }}

// takeBatch is a batch of undefined contents.
func takeBatch() *batch { return batchPool.Get().(*batch) }

// give hands a batch back, which nobody may use any more.
func (b *batch) give() {
	b.rows = nil
	batchPool.Put(b)
}

// batchStash lends batches to workers that come and go.
type batchStash struct{}

func (batchStash) get() (*batch, error) { return takeBatch(), nil }
func (batchStash) put(b *batch)         { b.give() }

func (b *batch) span(from int64, n int) { b.from, b.n, b.rows = uint32(from), n, nil }

func (b *batch) gather(rows []uint32) { b.n, b.rows = len(rows), rows }

func (b *batch) row(j int) uint32 {
	if b.rows != nil {
		return b.rows[j]
	}
	return b.from + uint32(j)
}

// compact drops the rows to be skipped.
func (b *batch) compact() {
	k := 0
	for j := range b.n {
		b.own[k], b.words[k] = b.row(j), b.words[j]
		if !b.skip[j] {
			k++
		}
	}
	b.n, b.rows = k, b.own[:k]
}

// source gives the words of a batch; where it sets skip it says so.
type source interface {
	fill(b *batch) (skips bool)
}

// batches calls f for each run of [from, to).
func batches(b *batch, from, to int64, f func() error) error {
	for ; from < to; from += batchRows {
		b.span(from, int(min(batchRows, to-from)))
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
