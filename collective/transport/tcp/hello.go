package tcp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

const (
	helloMagic   = 0x49_48_4c_56 // "VLHI"
	welcomeMagic = 0x4b_4f_4c_56 // "VLOK"
	helloSize    = 64
	welcomeSize  = 8
)

// hello is the first that the dialing rank says on a connection. On the wire,
// little-endian: magic (4), version, index, links, zero, from (4), to (4), key (32),
// tag (12), CRC-32C of all that (4). The tag is the beginning of the HMAC-SHA256 of all before it, by what the members of
// the world alone know. The answer is magic (4) and version (4).
type hello struct {
	key      [32]byte // of the group that meets
	from, to int      // ranks in it
	index    int      // of the connection in its pair
	links    int      // of a pair
	tag      [tagSize]byte
}

const tagSize = 12

// tagged is what shows that who says it is a member of the world.
func (h *hello) tagged(proof []byte) (tag [tagSize]byte) {
	sum := hmac.New(sha256.New, proof)
	sum.Write(h.encode()[:helloSize-tagSize-4])
	copy(tag[:], sum.Sum(nil))
	return tag
}

// proven says whether it was said by a member.
func (h *hello) proven(proof []byte) bool {
	want := h.tagged(proof)
	return hmac.Equal(h.tag[:], want[:])
}

func (h *hello) encode() []byte {
	le := binary.LittleEndian
	b := make([]byte, helloSize)
	le.PutUint32(b[0:], helloMagic)
	b[4], b[5], b[6] = version, byte(h.index), byte(h.links)
	le.PutUint32(b[8:], uint32(h.from))
	le.PutUint32(b[12:], uint32(h.to))
	copy(b[16:48], h.key[:])
	copy(b[48:60], h.tag[:])
	le.PutUint32(b[60:], checksum(b[:60]))
	return b
}

func (h *hello) decode(b *[helloSize]byte) error {
	le := binary.LittleEndian
	switch {
	case le.Uint32(b[0:]) != helloMagic:
		return errors.New("not a rank: another protocol, or a secret where this rank has none")
	case b[4] != version:
		return fmt.Errorf("a rank of version %d, this is version %d", b[4], version)
	case le.Uint32(b[60:]) != checksum(b[:60]):
		return errors.New("a damaged hello")
	}
	*h = hello{key: [32]byte(b[16:48]), from: int(le.Uint32(b[8:])), to: int(le.Uint32(b[12:])), index: int(b[5]), links: int(b[6]), tag: [tagSize]byte(b[48:60])}
	return nil
}

func readHello(conn net.Conn) (hello, error) {
	var b [helloSize]byte
	var h hello
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return h, err
	}
	return h, h.decode(&b)
}

// welcome tells the dialing rank that this one has come to the same group.
func welcome(conn net.Conn) error {
	b := binary.LittleEndian.AppendUint32(nil, welcomeMagic)
	_, err := conn.Write(binary.LittleEndian.AppendUint32(b, version))
	return err
}

// errNoWelcome is a connection that ended before the other side answered.
var errNoWelcome = errors.New("no welcome")

func readWelcome(conn net.Conn) error {
	var b [welcomeSize]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return fmt.Errorf("%w: %w", errNoWelcome, err)
	}
	if binary.LittleEndian.Uint32(b[:]) != welcomeMagic || binary.LittleEndian.Uint32(b[4:]) != version {
		return fmt.Errorf("bytes % x are no welcome", b)
	}
	return nil
}
