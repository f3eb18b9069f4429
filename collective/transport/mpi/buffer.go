package mpi

import "unsafe"

const (
	// segmentLen is the longest part of a message that travels by itself: it stays in the
	// second-level cache between its copy and the library's.
	segmentLen = 256 << 10
	shortLen   = 4 << 10
	keep       = 64 // buffers of a kind that wait for their next use
)

// buffer is memory that MPI may use until a request is finished, from a multiple of 64.
// It is the collector's like all of Go's heap, which does not move: that it lives is
// the flight's part, which stays in a list until its request is finished.
type buffer struct {
	b     []byte // as long as the message
	whole []byte
}

// pool has buffers of two lengths. The site's lock guards it.
type pool [2][]*buffer

func kind(n int) (at, length int) {
	if n <= shortLen {
		return 0, shortLen
	}
	return 1, max(n, frameLen+segmentLen)
}

// get is a buffer for n bytes.
func (p *pool) get(n int) *buffer {
	at, length := kind(n)
	if free := p[at]; len(free) > 0 && len(free[len(free)-1].whole) >= n {
		b := free[len(free)-1]
		p[at] = free[:len(free)-1]
		b.b = b.whole[:n]
		return b
	}
	raw := make([]byte, length+64)
	shift := int(-uintptr(unsafe.Pointer(&raw[0])) & 63)
	b := &buffer{whole: raw[shift : shift+length]}
	b.b = b.whole[:n]
	return b
}

// put takes one back that MPI has done with.
func (p *pool) put(b *buffer) {
	at, _ := kind(len(b.whole))
	if len(p[at]) < keep {
		p[at] = append(p[at], b)
	}
}
