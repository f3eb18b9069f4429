package opencl_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestSignals sends the process the signal that drivers which compile with LLVM
// take for themselves.
func TestSignals(t *testing.T) {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	defer signal.Stop(got)
	eachDevice(t, func(t *testing.T, b *bench) {
		b.function(argumentsText, "shift", argumentsDefines)
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		select {
		case <-got:
		case <-time.After(10 * time.Second):
			t.Fatal("the signal did not arrive")
		}
	})
}
