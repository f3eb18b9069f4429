//go:build unix

package gang

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup lets a worker be killed with what it has started, and keeps a terminal's signals for the start.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // it may have ended this moment
}
