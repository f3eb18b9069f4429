package mpi

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/internal/crc32c"
)

var someHeader = transport.Header{Seq: 7, Step: 3, Len: segmentLen + 40, Sum: 9, Call: transport.Call{Count: 11, Root: 2, Op: 1, Type: 4, Reduce: 5, Algorithm: 6}}

// framed is the segment of a message that begins at off, with its payload.
func framed(h transport.Header, off int64) []byte {
	b := make([]byte, frameLen+min(h.Len-off, segmentLen))
	putFrame(b, &h, off)
	return b
}

// A frame is read as it was written, and one of which any bit is another is none.
func TestFrame(t *testing.T) {
	for _, off := range []int64{0, segmentLen} {
		b := framed(someHeader, off)
		h, at, payload, err := frame(b)
		if err != nil || h != someHeader || at != off || len(payload) != len(b)-frameLen {
			t.Fatalf("%+v at %d, %d bytes, %v", h, at, len(payload), err)
		}
		for bit := range 8 * frameLen {
			b[bit/8] ^= 1 << (bit % 8)
			if _, _, _, err := frame(b); err == nil {
				t.Errorf("with bit %d turned over it is a frame", bit)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
		if _, _, _, err := frame(b[:len(b)-1]); err == nil {
			t.Error("with a byte less it is a frame")
		}
	}
}

// What is accepted is what would be written, and as long as it says.
func FuzzFrame(f *testing.F) {
	f.Add(framed(transport.Header{Len: 40}, 0))
	f.Add(framed(someHeader, segmentLen))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= frameLen { // or no input would have a right checksum
			binary.LittleEndian.PutUint32(b[frameSum:], crc32c.Checksum(b[:frameSum]))
		}
		h, off, payload, err := frame(b)
		if err != nil {
			return
		}
		if off < 0 || off+int64(len(payload)) > h.Len || len(payload) > segmentLen {
			t.Errorf("%+v at %d with %d bytes is accepted", h, off, len(payload))
		}
		again := make([]byte, frameLen)
		putFrame(again, &h, off)
		if !bytes.Equal(again[:52], b[:52]) {
			t.Errorf("% x is accepted and written as % x", b[:frameLen], again)
		}
	})
}
