//go:build linux && !race

package tcp

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readNow and writeNow call the system without the Go runtime's being told. They do not
// wait, so there is nothing to tell; but a copy of a quarter of a megabyte takes long enough
// for the runtime's monitor to take the processor away, where the process has one, and to
// look again every 20 µs from then on: some per cent of the processors that ranks share.

func readNow(fd int, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// vector is what writeNow hands to the system, kept so that it needs no memory.
type vector struct {
	head unix.Msghdr
	vec  [2]unix.Iovec
}

func (m *vector) writeNow(fd int, head, payload []byte) (int, error) {
	if len(payload) == 0 {
		head, payload = nil, head
	}
	used := 0
	for _, p := range [2][]byte{head, payload} {
		if len(p) > 0 {
			m.vec[used].Base = unsafe.SliceData(p)
			m.vec[used].SetLen(len(p))
			used++
		}
	}
	m.head.Iov = &m.vec[0]
	m.head.SetIovlen(used)
	n, _, errno := syscall.RawSyscall(syscall.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&m.head)), syscall.MSG_NOSIGNAL)
	runtime.KeepAlive(payload)
	m.vec[0].Base, m.vec[1].Base = nil, nil
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
