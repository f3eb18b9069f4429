package tcp

import (
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
// zero (12), CRC-32C of all that (4). The answer is magic (4) and version (4).
type hello struct {
	key      [32]byte // of the group that meets
	from, to int      // ranks in it
	index    int      // of the connection in its pair
	links    int      // of a pair
}

func (h *hello) encode() []byte {
	le := binary.LittleEndian
	b := make([]byte, helloSize)
	le.PutUint32(b[0:], helloMagic)
	b[4], b[5], b[6] = version, byte(h.index), byte(h.links)
	le.PutUint32(b[8:], uint32(h.from))
	le.PutUint32(b[12:], uint32(h.to))
	copy(b[16:48], h.key[:])
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
	*h = hello{key: [32]byte(b[16:48]), from: int(le.Uint32(b[8:])), to: int(le.Uint32(b[12:])), index: int(b[5]), links: int(b[6])}
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

func readWelcome(conn net.Conn) error {
	var b [welcomeSize]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return fmt.Errorf("no welcome: %w", err)
	}
	if binary.LittleEndian.Uint32(b[:]) != welcomeMagic || binary.LittleEndian.Uint32(b[4:]) != version {
		return fmt.Errorf("bytes % x are no welcome", b)
	}
	return nil
}
