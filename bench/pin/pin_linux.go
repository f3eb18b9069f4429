// Package pin places the processes of a measurement on processors.
package pin

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Everywhere is the place of a process that may use all processors.
const Everywhere = -1

// Start starts a process on the processor whose turn it is: a new process has the
// affinity of the thread that makes it.
func Start(c *exec.Cmd, turn int) error {
	if turn == Everywhere {
		return c.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all, err := put(turn)
	if err != nil {
		return err
	}
	err = c.Start()
	if back := unix.SchedSetaffinity(0, &all); err == nil && back != nil {
		err = fmt.Errorf("pinning: %w", back)
	}
	return err
}

// put puts the calling thread, which had all, on the processor whose turn it is.
func put(turn int) (all unix.CPUSet, err error) {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return all, fmt.Errorf("processors of this process: %w", err)
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
		return all, fmt.Errorf("pinning: %w", err)
	}
	return all, nil
}

// Become begins this process anew with other arguments, on the processor whose turn it
// is: one that runs has threads elsewhere already.
func Become(turn int, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := put(turn); err != nil {
		return err
	}
	return fmt.Errorf("beginning anew: %w", unix.Exec(self, args, os.Environ()))
}
