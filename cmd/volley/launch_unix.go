//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// forwarded gives the signals that ranks are sent as well.
func forwarded() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	return signals, func() { signal.Stop(signals) }
}

// ownGroup keeps a terminal's signals from reaching a rank twice.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endsWithParent(c.SysProcAttr)
}

// signalGroup signals a rank and the processes that it has started, as a terminal does.
func signalGroup(p *os.Process, s os.Signal) {
	_ = syscall.Kill(-p.Pid, s.(syscall.Signal)) // it may have ended this moment
}

// signalOf is the signal that ended a process, or 0.
func signalOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return int(w.Signal())
	}
	return 0
}
