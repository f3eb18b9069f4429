package mesh

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/volley-go/volley/internal/crc32c"
)

const (
	headSize = 80
	magic    = 0x676e6776
	version  = 1
	// segment is how much of a long payload goes in one frame, so that others pass between.
	segment = 256 << 10
	// short is the longest payload that is sent without being asked for.
	short = 64 << 10
)

type kind uint8

// The kinds of frames.
const (
	beat      kind = 1 + iota // the sender lives
	goodbye                   // it leaves; with a text: it was given up, and why
	gone                      // of the hub: the worker from has gone, the text says how
	note                      // of a group, beside its lanes
	data                      // a group's message
	offer                     // a group's message whose payload is to be asked for
	ack                       // off messages of a lane were taken
	come                      // the sender is at a split's meeting; off is 0 where it withdraws
	quit                      // the sender has closed its end of a group
	post                      // a message with a tag
	postOffer                 // one whose payload is to be asked for
	ask                       // a segment of a question
	answer                    // a segment of an answer
	failed                    // the answer is an error
	cancel                    // nobody waits for the answer
	table                     // of the hub: all workers are there, and where
	lastKind
)

// frame is what precedes every payload.
type frame struct {
	kind       kind
	run        [16]byte
	generation uint64
	number     uint64 // of the question or the message
	group      uint64 // the group's, or the message's tag
	off, total int64  // of the payload in the whole
	from, to   int32
	size       uint32
}

// errFrame is of bytes that are no frame.
var errFrame = errors.New("bytes that are no frame of a gang")

func (f *frame) append(b, payload []byte) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, magic)
	b = append(b, version, byte(f.kind), 0, 0)
	b = append(b, f.run[:]...)
	b = binary.LittleEndian.AppendUint64(b, f.generation)
	b = binary.LittleEndian.AppendUint64(b, f.number)
	b = binary.LittleEndian.AppendUint64(b, f.group)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.off))
	b = binary.LittleEndian.AppendUint64(b, uint64(f.total))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.from))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.to))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, crc32c.Update(crc32c.Checksum(b[at:]), payload))
	return append(b, payload...)
}

// read takes a header apart, and gives the checksum that its payload has to bring it to.
func (f *frame) read(head []byte) (sum uint32, err error) {
	if binary.LittleEndian.Uint32(head) != magic || head[4] != version {
		return 0, errFrame
	}
	f.kind = kind(head[5])
	copy(f.run[:], head[8:24])
	f.generation = binary.LittleEndian.Uint64(head[24:])
	f.number = binary.LittleEndian.Uint64(head[32:])
	f.group = binary.LittleEndian.Uint64(head[40:])
	f.off = int64(binary.LittleEndian.Uint64(head[48:]))
	f.total = int64(binary.LittleEndian.Uint64(head[56:]))
	f.from = int32(binary.LittleEndian.Uint32(head[64:]))
	f.to = int32(binary.LittleEndian.Uint32(head[68:]))
	f.size = binary.LittleEndian.Uint32(head[72:])
	if f.kind == 0 || f.kind >= lastKind || f.size > segment+headerSize || f.off < 0 || f.total < 0 {
		return 0, fmt.Errorf("%w: kind %d, %d bytes", errFrame, f.kind, f.size)
	}
	return binary.LittleEndian.Uint32(head[76:]), nil
}
