//go:build !linux

// Package pin places the processes of a measurement on processors.
package pin

import (
	"errors"
	"os/exec"
)

// Everywhere is the place of a process that may use all processors.
const Everywhere = -1

// Start starts a process; only Linux is asked to pin it.
func Start(c *exec.Cmd, _ int) error { return c.Start() }

// Become begins this process anew on a processor of its own.
func Become(int, []string) error {
	return errors.New("a process begins anew on a processor of its own on Linux only")
}
