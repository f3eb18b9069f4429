//go:build !linux

package collective

import (
	"errors"
	"os/exec"
)

// everywhere is the place of a process that may use all processors.
const everywhere = -1

// startOn starts a process; only Linux is asked to pin it.
func startOn(c *exec.Cmd, _ int) error { return c.Start() }

// become begins this process anew on a processor of its own.
func become(int, []string) error { return errors.New("ranks over MPI are measured on Linux") }
