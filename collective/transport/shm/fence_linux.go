package shm

import "golang.org/x/sys/unix"

// Of membarrier(2).
const (
	fenceAll    = 2 // MEMBARRIER_CMD_GLOBAL_EXPEDITED
	registerAll = 4 // MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED
)

// heedFences says whether this process passes the fences that others ask for.
func heedFences() bool {
	_, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, registerAll, 0, 0)
	return errno == 0
}

// fenceOthers has all processes that heedFences pass a fence.
func fenceOthers() { _, _, _ = unix.Syscall(unix.SYS_MEMBARRIER, fenceAll, 0, 0) }
