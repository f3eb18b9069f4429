package order

import (
	"fmt"
	"sort"
	"sync"
)

// blocks shuffles blocks, and rows within windows of blocks.
type blocks struct {
	sizes  []int64
	starts []int64 // the first row of each block, and the number of rows
	buffer int64
	seed   uint64
	fixed  bool // the blocks stay in their order
	epochs recent[blockEpoch]
}

// blockEpoch is the blocks of an epoch as they come.
type blockEpoch struct {
	block   []int32 // which block comes k-th
	starts  []int64 // the position at which it begins, and the number of rows
	windows []int32 // of which block on each window is, and behind the last the number of blocks
}

// Blocks is every row once, by blocks that are read whole, row groups of a file
// say: the blocks come in another order in each epoch, and through a buffer. The
// buffer takes in blocks until it holds so many rows, and their rows come in a
// random order before the next blocks are taken in. So who reads in this order
// needs the blocks of one buffer at a time, and those of two where one ends; a
// buffer of all rows is Shuffled, one of a single row leaves blocks as they are.
//
// It holds twelve bytes a block for each of the last epochs.
func Blocks(sizes []int64, buffer int64, seed uint64) (Order, error) {
	return newBlocks(sizes, buffer, seed, false)
}

// Buffered is Blocks whose blocks come in the order of the data in every epoch,
// as a stream gives them that cannot be read from the middle; only the rows in
// the buffer are shuffled.
func Buffered(sizes []int64, buffer int64, seed uint64) (Order, error) {
	return newBlocks(sizes, buffer, seed, true)
}

func newBlocks(sizes []int64, buffer int64, seed uint64, fixed bool) (Order, error) {
	if buffer < 1 {
		return nil, mismatch("a buffer of %d rows: at least 1 is needed", buffer)
	}
	b := &blocks{sizes: sizes, starts: []int64{0}, buffer: buffer, seed: seed, fixed: fixed}
	for i, n := range sizes {
		if n < 1 {
			return nil, mismatch("block %d of %d rows", i, n)
		}
		b.starts = append(b.starts, b.starts[i]+n)
	}
	return b, nil
}

// Len is the number of rows.
func (b *blocks) Len() int64 { return b.starts[len(b.sizes)] }

// Rows is the number of rows.
func (b *blocks) Rows() int64 { return b.Len() }

// Hash is that of blocks, buffer and seed.
func (b *blocks) Hash() uint32 {
	kind := "blocks"
	if b.fixed {
		kind = "buffered"
	}
	return hash(kind, hashAll(b.sizes), uint64(b.buffer), b.seed)
}

// String says what it is.
func (b *blocks) String() string {
	if b.fixed {
		return fmt.Sprintf("that of the data, through a buffer of %d rows", b.buffer)
	}
	return fmt.Sprintf("%d blocks, shuffled, through a buffer of %d rows", len(b.sizes), b.buffer)
}

// epoch is the blocks of an epoch.
func (b *blocks) epoch(n int64) *blockEpoch {
	return b.epochs.get(n, func() *blockEpoch {
		e := &blockEpoch{starts: []int64{0}}
		p := NewPermutation(int64(len(b.sizes)), b.seed, uint64(n))
		full := b.buffer // so that a window begins
		for k := range b.sizes {
			block := k
			if !b.fixed {
				block = int(p.At(int64(k)))
			}
			if full >= b.buffer {
				e.windows, full = append(e.windows, int32(k)), 0
			}
			full += b.sizes[block]
			e.block = append(e.block, int32(block))
			e.starts = append(e.starts, e.starts[k]+b.sizes[block])
		}
		e.windows = append(e.windows, int32(len(b.sizes)))
		return e
	})
}

// Fill goes from window to window.
func (b *blocks) Fill(dst []int64, epoch, from int64) {
	if b.Len() == 0 {
		return
	}
	e := b.epoch(epoch)
	for at := wrap(from, b.Len()); len(dst) > 0; at = wrap(at, b.Len()) {
		w := sort.Search(len(e.windows)-1, func(i int) bool { return e.starts[e.windows[i+1]] > at })
		first, last := e.windows[w], e.windows[w+1]
		begin, end := e.starts[first], e.starts[last]
		p := NewPermutation(end-begin, mix(b.seed)+uint64(w), uint64(epoch))
		n := min(int64(len(dst)), end-at)
		p.Fill(dst[:n], at-begin)
		own := e.starts[first : last+1]
		for i, local := range dst[:n] {
			k := sort.Search(len(own)-1, func(i int) bool { return own[i+1] > begin+local })
			dst[i] = b.starts[e.block[int(first)+k]] + begin + local - own[k]
		}
		dst, at = dst[n:], at+n
	}
}

// recent keeps what was computed for the last two epochs: at the end of one the
// next has begun already.
type recent[T any] struct {
	mu     sync.Mutex
	epochs [2]int64
	values [2]*T
	next   int
}

func (r *recent[T]) get(epoch int64, make func() *T) *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, v := range r.values {
		if v != nil && r.epochs[i] == epoch {
			return v
		}
	}
	v := make()
	r.epochs[r.next], r.values[r.next] = epoch, v
	r.next = 1 - r.next
	return v
}
