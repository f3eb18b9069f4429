package tcp

import (
	"encoding/binary"
	"fmt"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/internal/crc32c"
)

const (
	magic    = 0x59_4c_4c_56 // "VLLY"
	version  = 1
	headSize = 80
	// segment is how much of a message travels in one frame: half of a small second
	// level cache, so that a segment is still there when it is summed or combined.
	segment = 256 << 10
	// maxNote bounds the text of a note.
	maxNote = 64 << 10
)

// kind is what a frame carries.
type kind uint8

const (
	data    kind = iota + 1 // a segment of a message
	note                    // a note's text
	goodbye                 // nothing more will come; the text, if any, is why
)

func checksum(p []byte) uint32 { return crc32c.Checksum(p) }

// frame is a frame's header. On the wire, little-endian:
//
//	 0 magic    4 version  5 kind   6 zero (2)   8 size (4)  12 sum (4)
//	16 number  24 off     32 Seq   40 Step (4)  44 Sum (4)   48 Len
//	56 Count   64 Root (4)  68 Op  69 Type  70 Reduce  71 Algorithm
//	72 zero (4)  76 checksum of what stands before it (4)
type frame struct {
	kind   kind
	size   uint32 // bytes that follow the header
	sum    uint32 // CRC-32C of them
	number uint64 // of the frame on its connection and direction, from 0
	off    int64  // of the segment in its message
	head   transport.Header
}

func (f *frame) encode(b *[headSize]byte) {
	le := binary.LittleEndian
	le.PutUint32(b[0:], magic)
	b[4], b[5], b[6], b[7] = version, byte(f.kind), 0, 0
	le.PutUint32(b[8:], f.size)
	le.PutUint32(b[12:], f.sum)
	le.PutUint64(b[16:], f.number)
	le.PutUint64(b[24:], uint64(f.off))
	le.PutUint64(b[32:], f.head.Seq)
	le.PutUint32(b[40:], f.head.Step)
	le.PutUint32(b[44:], f.head.Sum)
	le.PutUint64(b[48:], uint64(f.head.Len))
	c := &f.head.Call
	le.PutUint64(b[56:], uint64(c.Count))
	le.PutUint32(b[64:], uint32(c.Root))
	b[68], b[69], b[70], b[71] = c.Op, c.Type, c.Reduce, c.Algorithm
	le.PutUint32(b[72:], 0)
	le.PutUint32(b[76:], checksum(b[:76]))
}

// decode takes a header apart. What it accepts is what encode writes, with lengths
// within the bounds of the kind.
func (f *frame) decode(b *[headSize]byte) error {
	le := binary.LittleEndian
	switch {
	case le.Uint32(b[0:]) != magic:
		return fmt.Errorf("bytes % x are no frame", b[:8])
	case b[4] != version:
		return fmt.Errorf("frame of version %d, this is version %d", b[4], version)
	case le.Uint32(b[76:]) != checksum(b[:76]):
		return fmt.Errorf("frame header does not match its checksum")
	case le.Uint16(b[6:]) != 0 || le.Uint32(b[72:]) != 0:
		return fmt.Errorf("frame header with unknown fields")
	}
	*f = frame{
		kind: kind(b[5]), size: le.Uint32(b[8:]), sum: le.Uint32(b[12:]),
		number: le.Uint64(b[16:]), off: int64(le.Uint64(b[24:])),
		head: transport.Header{
			Seq: le.Uint64(b[32:]), Step: le.Uint32(b[40:]), Sum: le.Uint32(b[44:]), Len: int64(le.Uint64(b[48:])),
			Call: transport.Call{
				Count: int64(le.Uint64(b[56:])), Root: int32(le.Uint32(b[64:])),
				Op: b[68], Type: b[69], Reduce: b[70], Algorithm: b[71],
			},
		},
	}
	return f.check()
}

// check holds the lengths against each other.
func (f *frame) check() error {
	switch f.kind {
	case data:
		if f.head.Len < 0 || f.off < 0 || f.off > max(0, f.head.Len-1) || f.off%segment != 0 || int64(f.size) != min(segment, f.head.Len-f.off) {
			return fmt.Errorf("frame of %d bytes at %d of a message of %d", f.size, f.off, f.head.Len)
		}
		return nil
	case note, goodbye:
		if f.size > maxNote || f.off != 0 || f.head != (transport.Header{}) {
			return fmt.Errorf("note of %d bytes, at most %d are allowed", f.size, maxNote)
		}
		return nil
	}
	return fmt.Errorf("frame of unknown kind %d", f.kind)
}

func updateSum(sum uint32, p []byte) uint32 { return crc32c.Update(sum, p) }
