//go:build unix && (!linux || race)

package tcp

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func readNow(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }

// vector is what writeNow hands to the system.
type vector struct{ both [2][]byte }

func (m *vector) writeNow(fd int, head, payload []byte) (int, error) {
	if len(payload) == 0 {
		return syscall.Write(fd, head)
	}
	m.both = [2][]byte{head, payload}
	n, err := unix.SendmsgBuffers(fd, m.both[:], nil, nil, 0)
	clear(m.both[:])
	return n, err
}
