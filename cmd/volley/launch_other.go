//go:build !unix

package main

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
)

// forwarded gives the signals that ranks are sent as well.
func forwarded() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt)
	return signals, func() { signal.Stop(signals) }
}

func ownGroup(*exec.Cmd) {}

// signalGroup signals a rank.
func signalGroup(p *os.Process, s os.Signal) {
	_ = p.Signal(s) // it may have ended this moment
}

func signalOf(*os.ProcessState) int { return 0 }

func staysOnThread() (leave func()) { return func() {} }

// guard has nothing to do where processes have no groups.
type guard struct{}

func startGuard() (*guard, error)    { return &guard{}, nil }
func (*guard) add(*os.Process) error { return nil }
func (*guard) drop(*os.Process)      {}
func (*guard) end()                  {}
func watchOver(io.Reader)            {}
