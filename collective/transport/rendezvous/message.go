package rendezvous

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// message is what rank 0 and another say to each other: a length of four bytes,
// little-endian, and JSON.
type message struct {
	Kind    string   `json:"kind"` // join, wait, table, refused
	Rank    int      `json:"rank,omitempty"`
	Size    int      `json:"size,omitempty"`
	ID      string   `json:"id,omitempty"`
	Card    []byte   `json:"card,omitempty"`
	Missing []int    `json:"missing,omitempty"` // wait: who has not come
	Text    string   `json:"text,omitempty"`    // refused: why
	Key     []byte   `json:"key,omitempty"`
	Cards   [][]byte `json:"cards,omitempty"`
}

// errStrange is bytes that are no message.
var errStrange = errors.New("the other side speaks another protocol, or has a secret where this one has none")

// bound is the longest message in a world of that size.
func bound(size int) int64 { return 2*maxCard*int64(size) + 4096 }

func send(w io.Writer, m *message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
	return err
}

// receive reads a message of at most limit bytes. Memory grows with what comes, not
// with the length announced.
func receive(r io.Reader, m *message, limit int64) error {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(length[:]))
	if n > limit {
		return fmt.Errorf("%w: message of %d bytes, at most %d are allowed", errStrange, n, limit)
	}
	var text bytes.Buffer
	if _, err := io.CopyN(&text, r, n); err != nil {
		return err
	}
	if err := json.Unmarshal(text.Bytes(), m); err != nil {
		return fmt.Errorf("%w: %w", errStrange, err)
	}
	return nil
}
