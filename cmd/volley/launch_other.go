//go:build !unix

package main

import (
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
