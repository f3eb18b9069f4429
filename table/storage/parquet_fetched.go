package storage

import (
	"context"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/memory"
)

// largestFetch is the longest stretch of a file that is read at once: row groups are
// usually shorter, so that a page costs no call of the system, and those that are not
// are read page by page.
const largestFetch = 8 << 20

// fetched is a stretch of a file in memory. Nil has nothing.
type fetched struct {
	at int64
	b  []byte
}

// bytes are n bytes from an offset in the file on, or nil where they are not all there.
func (f *fetched) bytes(at, n int64) []byte {
	if f == nil || at < f.at || n > int64(len(f.b))-(at-f.at) {
		return nil
	}
	at -= f.at
	return f.b[at : at+n : at+n]
}

// fetch reads into room the column chunks of the fields at once, and what lies between them. It
// is nil where that would be much more than they are, or more than largestFetch, or
// where it fails: pages are read one by one then, and what is wrong is an error of that
// one.
func (r *groupReader) fetch(ctx context.Context, room *groupRoom) *fetched {
	first, last, sum := int64(math.MaxInt64), int64(0), int64(0)
	for _, i := range r.fields {
		for _, leaf := range r.file.leaves[i] {
			chunk, err := r.file.meta.RowGroup(r.g).ColumnChunk(leaf)
			if err != nil {
				return nil
			}
			start, size := chunkSpan(chunk)
			first, last, sum = min(first, start), max(last, start+size), sum+size
		}
	}
	n := last - first
	if n <= 0 || n > largestFetch || n > sum+sum/4 {
		return nil
	}
	b, err := roomIn(&room.stretch, r.from, n)
	if err != nil {
		return nil
	}
	in := &until{ctx: ctx, in: r.file.input}
	if _, err := in.ReadAt(b, first); err != nil {
		return nil
	}
	return &fetched{first, b}
}

// groupRoom is what a row group is opened in: a stretch of the file, a page of it, and
// what that is unpacked to.
type groupRoom struct{ stretch, packed, page *memory.Buffer }

func (r *groupRoom) release() {
	for _, b := range []*memory.Buffer{r.stretch, r.packed, r.page} {
		b.Release()
	}
}

// groupMemory has row groups that are opened one after the other work in the same
// memory, though they differ in size: fresh pages cost a fifth of what decoding does.
// Nil keeps nothing.
type groupMemory struct {
	largest atomic.Int64 // bytes of a WordGroup that can be kept, so far
	rooms   chan *groupRoom
}

func newGroupMemory() *groupMemory {
	return &groupMemory{rooms: make(chan *groupRoom, processors.Count())}
}

// sizeFor is how much memory a WordGroup takes that needs so many bytes: as much as the
// largest so far, so that it can have that of one before it. Those that are too large
// to be kept take what they need.
func (m *groupMemory) sizeFor(size int64) int64 {
	for m != nil && size <= keptRooms {
		largest := m.largest.Load()
		if size <= largest {
			return largest
		}
		if m.largest.CompareAndSwap(largest, size) {
			break
		}
	}
	return size
}

// borrow gives a room that nobody works in.
func (m *groupMemory) borrow() *groupRoom {
	if m != nil {
		select {
		case r := <-m.rooms:
			return r
		default:
		}
	}
	return &groupRoom{}
}

// giveBack keeps a room for the next.
func (m *groupMemory) giveBack(r *groupRoom) {
	if m != nil {
		select {
		case m.rooms <- r:
			return
		default:
		}
	}
	r.release()
}

// drop gives all memory back. Nobody opens a row group any more.
func (m *groupMemory) drop() {
	for {
		select {
		case r := <-m.rooms:
			r.release()
		default:
			return
		}
	}
}

// roomIn is n bytes, slack bytes behind them, of a buffer that is used again. One that
// is too small is replaced by one that is up to an eighth larger than is wanted.
func roomIn(b **memory.Buffer, from memory.Allocator, n int64) ([]byte, error) {
	if *b == nil || (*b).Len() < n+slack {
		(*b).Release()
		*b = nil
		step := int64(1) << max(0, bits.Len64(uint64(n+slack))-4)
		fresh, err := memory.New(from, (n+slack+step-1)/step*step)
		if err != nil {
			return nil, err
		}
		*b = fresh
	}
	return (*b).Bytes()[:n], nil
}
