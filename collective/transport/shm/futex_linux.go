package shm

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	futexWait = 0
	futexWake = 1
)

// sleep waits until the word is not value any more, somebody wakes it, or the time
// is up.
func sleep(word *atomic.Uint32, value uint32, limit time.Duration) {
	ts := unix.NsecToTimespec(int64(limit))
	// Whatever ends the wait, the caller looks again.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), uintptr(unsafe.Pointer(&ts)), 0, 0)
}

func wake(word *atomic.Uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1<<30, 0, 0, 0)
}

// yield gives the processor to another process that wants it.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
