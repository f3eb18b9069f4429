package memory

import "sync/atomic"

// Limited lets an allocator give out a certain number of bytes and no more:
// a request beyond it is an OutOfMemory error that says what was asked for and
// what there was. Bytes are counted padded, as they are taken.
//
// Round a Caching it limits what callers hold; inside of one it limits what is
// kept as well, and the Caching gives back what it keeps before it fails.
type Limited struct {
	inner Allocator
	limit int64
	used  atomic.Int64
}

// NewLimited lets callers hold up to limit bytes of inner at a time.
func NewLimited(inner Allocator, limit int64) *Limited {
	return &Limited{inner: inner, limit: limit}
}

// Place is the inner allocator's.
func (l *Limited) Place() Place { return l.inner.Place() }

// Limit is the bytes that may be out.
func (l *Limited) Limit() int64 { return l.limit }

// InUse is the bytes that are out.
func (l *Limited) InUse() int64 { return l.used.Load() }

// Allocate asks the inner allocator if the limit allows it.
func (l *Limited) Allocate(size int64) (Block, error) {
	if size < 0 {
		return l.inner.Allocate(size)
	}
	padded := Padded(size)
	for {
		used := l.used.Load()
		if padded < size || padded > l.limit-used {
			return Block{}, &OutOfMemory{Place: l.Place(), Requested: size, InUse: used, Limit: l.limit}
		}
		if l.used.CompareAndSwap(used, used+padded) {
			break
		}
	}
	b, err := l.inner.Allocate(size)
	if err != nil {
		l.used.Add(-padded)
	}
	return b, err
}

// Free hands the block to the inner allocator.
func (l *Limited) Free(b Block) {
	l.inner.Free(b)
	l.used.Add(-Padded(b.Size))
}
