package mpi

import (
	"encoding/binary"
	"errors"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/internal/crc32c"
)

// frameLen is the bytes before each segment. Elements behind them are aligned.
const frameLen = 64

// frameSum is where a frame's checksum lies, of what is before it.
const frameSum = frameLen - 4

const frameMagic = 0x564d5046

var errFrame = errors.New("mpi: a segment that is none of this transport's, or out of order")

// putFrame writes the header of the segment that begins at off of its message.
func putFrame(b []byte, h *transport.Header, off int64) {
	le := binary.LittleEndian
	le.PutUint32(b, frameMagic)
	le.PutUint32(b[4:], h.Step)
	le.PutUint64(b[8:], h.Seq)
	le.PutUint64(b[16:], uint64(h.Len))
	le.PutUint64(b[24:], uint64(off))
	le.PutUint64(b[32:], uint64(h.Call.Count))
	le.PutUint32(b[40:], h.Sum)
	le.PutUint32(b[44:], uint32(h.Call.Root))
	b[48], b[49], b[50], b[51] = h.Call.Op, h.Call.Type, h.Call.Reduce, h.Call.Algorithm
	clear(b[52:frameLen])
	le.PutUint32(b[frameSum:], crc32c.Checksum(b[:frameSum]))
}

// frame reads one. The segment's payload is what follows: it is as long as the header
// says.
func frame(b []byte) (h transport.Header, off int64, payload []byte, err error) {
	le := binary.LittleEndian
	if len(b) < frameLen || le.Uint32(b) != frameMagic || le.Uint32(b[frameSum:]) != crc32c.Checksum(b[:frameSum]) {
		return h, 0, nil, errFrame
	}
	h = transport.Header{Step: le.Uint32(b[4:]), Seq: le.Uint64(b[8:]), Len: int64(le.Uint64(b[16:])), Sum: le.Uint32(b[40:]),
		Call: transport.Call{Count: int64(le.Uint64(b[32:])), Root: int32(le.Uint32(b[44:])), Op: b[48], Type: b[49], Reduce: b[50], Algorithm: b[51]}}
	off, payload = int64(le.Uint64(b[24:])), b[frameLen:]
	if h.Len < 0 || off < 0 || off > h.Len || off%segmentLen != 0 || int64(len(payload)) != min(h.Len-off, segmentLen) {
		return h, 0, nil, errFrame
	}
	return h, off, payload, nil
}
