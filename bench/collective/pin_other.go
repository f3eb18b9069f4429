//go:build !linux

package collective

import "os/exec"

// everywhere is the place of a process that may use all processors.
const everywhere = -1

// startOn starts a process; only Linux is asked to pin it.
func startOn(c *exec.Cmd, _ int) error { return c.Start() }
