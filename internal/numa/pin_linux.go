package numa

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Enter keeps the calling goroutine on the node's processors until the function that
// it returns is called, by the same goroutine. Where the system refuses, the
// goroutine runs where it did: the place of a thread changes no result.
func (n Node) Enter() (leave func()) {
	var own, before unix.CPUSet
	for _, cpu := range n.CPUs {
		own.Set(cpu)
	}
	runtime.LockOSThread()
	err := unix.SchedGetaffinity(0, &before)
	if err == nil {
		err = unix.SchedSetaffinity(0, &own)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return func() {}
	}
	return func() {
		// A thread that cannot be given its processors back is not given back
		// itself: it ends with its goroutine.
		if err := unix.SchedSetaffinity(0, &before); err == nil {
			runtime.UnlockOSThread()
		}
	}
}
