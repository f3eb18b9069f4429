package storage

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/memory"
)

// spans are where in the file the column chunks of the fields lie.
func (r *groupReader) spans() (all []span) {
	for _, i := range r.fields {
		for _, leaf := range r.file.leaves[i] {
			chunk, err := r.file.meta.RowGroup(r.g).ColumnChunk(leaf)
			if err != nil {
				return nil // which decoding tells
			}
			start, size := chunkSpan(chunk)
			all = append(all, span{start, size})
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.at, b.at) })
	return all
}

// groupRoom is what a row group is opened in: a page of the file, and what that is
// unpacked to.
type groupRoom struct{ packed, page *memory.Buffer }

func (r *groupRoom) release() {
	r.packed.Release()
	r.page.Release()
}

// groupMemory has pieces that are opened one after the other work in the same
// memory, though they differ in size: fresh pages cost a fifth of what decoding does.
// Nil keeps nothing.
type groupMemory struct {
	largest   atomic.Int64 // bytes of a WordGroup that can be kept, so far
	rooms     chan *groupRoom
	stretches chan *memory.Buffer // that pieces were fetched to
}

func newGroupMemory() *groupMemory {
	return &groupMemory{rooms: make(chan *groupRoom, processors.Count()), stretches: make(chan *memory.Buffer, 1+processors.Count())}
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

// stretch gives a buffer to fetch into, or nil.
func (m *groupMemory) stretch() *memory.Buffer {
	select {
	case b := <-m.stretches:
		return b
	default:
		return nil
	}
}

// keep keeps a buffer for what is fetched next.
func (m *groupMemory) keep(b *memory.Buffer) {
	if b == nil {
		return
	}
	select {
	case m.stretches <- b:
	default:
		b.Release()
	}
}

// drop gives all memory back. Nobody opens a row group any more.
func (m *groupMemory) drop() {
	for {
		select {
		case r := <-m.rooms:
			r.release()
		case b := <-m.stretches:
			b.Release()
		default:
			return
		}
	}
}

// fetch reads the column chunks of the fields into a buffer, which may be replaced.
func (r *groupReader) fetch(ctx context.Context, room **memory.Buffer) *fetched {
	return fetch(ctx, r.file.input, room, r.from, together(r.spans()))
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
