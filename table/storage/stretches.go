package storage

import (
	"context"
	"slices"
	"sync"

	"github.com/volley-go/volley/memory"
)

const (
	// largestFetch is the most of a piece that is read at once, ahead of its decoding:
	// pieces are usually smaller, so that a page costs no call of the system. Of larger
	// ones the system is told that they are wanted, and they are read page by page.
	largestFetch = 8 << 20
	// largestGap is how many bytes between two that are wanted are read rather than left out
	// by a call of the system more.
	largestGap = 64 << 10
)

// span is size bytes of a file from an offset on.
type span struct{ at, size int64 }

// together joins spans, which are in the order of the file, as far as less is read for it
// that is not wanted than a quarter of what is.
func together(spans []span) (joined []span) {
	spare := sizeOf(spans) / 4
	for _, s := range spans {
		if last := len(joined) - 1; last >= 0 {
			if gap := s.at - joined[last].at - joined[last].size; gap <= min(largestGap, spare) {
				spare -= max(0, gap)
				joined[last].size = max(joined[last].size, s.at+s.size-joined[last].at)
				continue
			}
		}
		joined = append(joined, s)
	}
	return joined
}

// sizeOf is how many bytes spans have.
func sizeOf(spans []span) (n int64) {
	for _, s := range spans {
		n += s.size
	}
	return n
}

// fetched is stretches of a file in memory. Nil has nothing.
type fetched struct {
	spans []span // in the order of the file
	b     []byte // of all, one after the other
}

// bytes are n bytes from an offset in the file on, or nil where they are not all there.
func (f *fetched) bytes(at, n int64) []byte {
	if f == nil || n < 0 {
		return nil
	}
	from := int64(0)
	for _, s := range f.spans {
		if at >= s.at && at <= s.at+s.size && n <= s.size-(at-s.at) {
			from += at - s.at
			return f.b[from : from+n : from+n]
		}
		from += s.size
	}
	return nil
}

// fetch reads stretches of a file into a buffer, which may be replaced. It is nil where
// they are more than largestFetch, of which the system is told, or where it fails: what is
// wrong is an error of who reads there then.
func fetch(ctx context.Context, in *input, room **memory.Buffer, from memory.Allocator, spans []span) *fetched {
	n := sizeOf(spans)
	if n > largestFetch {
		for _, s := range spans {
			in.foretell(s)
		}
		return nil
	}
	if n <= 0 {
		return nil
	}
	b, err := roomIn(room, from, n)
	if err != nil {
		return nil
	}
	f, read := &fetched{spans, b}, &until{ctx: ctx, in: in}
	for _, s := range spans {
		if _, err := read.ReadAt(b[:s.size], s.at); err != nil {
			return nil
		}
		b = b[s.size:]
	}
	return f
}

// stretches are those of a file that were fetched, for decoders that read it as a file.
type stretches struct {
	mu sync.RWMutex
	of []*fetched
}

// copy reads from what was fetched, and reports false where that is not all there.
func (s *stretches) copy(p []byte, off int64) bool {
	s.mu.RLock() // until it is copied: it may be dropped then
	defer s.mu.RUnlock()
	for _, f := range s.of {
		if b := f.bytes(off, int64(len(p))); b != nil {
			copy(p, b)
			return true
		}
	}
	return false
}

func (s *stretches) add(f *fetched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of = append(s.of, f)
}

func (s *stretches) drop(f *fetched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.of, f); i >= 0 {
		s.of = slices.Delete(s.of, i, i+1)
	}
}
