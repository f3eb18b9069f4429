package collective

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// everywhere is the place of a process that may use all processors.
const everywhere = -1

// startOn starts a process on the processor whose turn it is: a new process has the
// affinity of the thread that makes it.
func startOn(c *exec.Cmd, turn int) error {
	if turn == everywhere {
		return c.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return fmt.Errorf("processors of this process: %w", err)
	}
	turn %= all.Count()
	for cpu := 0; own.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			if turn == 0 {
				own.Set(cpu)
			}
			turn--
		}
	}
	if err := unix.SchedSetaffinity(0, &own); err != nil {
		return fmt.Errorf("pinning: %w", err)
	}
	err := c.Start()
	if back := unix.SchedSetaffinity(0, &all); err == nil && back != nil {
		err = fmt.Errorf("pinning: %w", back)
	}
	return err
}
