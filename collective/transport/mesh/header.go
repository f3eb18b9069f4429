package mesh

import (
	"encoding/binary"

	"github.com/volley-go/volley/collective/transport"
)

// headerSize is a transport.Header in front of a group's message.
const headerSize = 48

func appendHeader(b []byte, h *transport.Header) []byte {
	b = binary.LittleEndian.AppendUint64(b, h.Seq)
	b = binary.LittleEndian.AppendUint32(b, h.Step)
	b = binary.LittleEndian.AppendUint32(b, h.Sum)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.Len))
	b = append(b, h.Call.Op, h.Call.Type, h.Call.Reduce, h.Call.Algorithm)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.Call.Root))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.Call.Count))
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0)
}

func readHeader(b []byte) (h transport.Header, ok bool) {
	if len(b) < headerSize {
		return h, false
	}
	h.Seq = binary.LittleEndian.Uint64(b)
	h.Step = binary.LittleEndian.Uint32(b[8:])
	h.Sum = binary.LittleEndian.Uint32(b[12:])
	h.Len = int64(binary.LittleEndian.Uint64(b[16:]))
	h.Call = transport.Call{Op: b[24], Type: b[25], Reduce: b[26], Algorithm: b[27],
		Root: int32(binary.LittleEndian.Uint32(b[28:])), Count: int64(binary.LittleEndian.Uint64(b[32:]))}
	return h, h.Len >= 0
}
