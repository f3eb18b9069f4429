//go:build unix && !linux

package distributed

import (
	"syscall"
	"time"
)

// stopSelf stops this process before it returns. A SIGSTOP is taken by any one of the process's threads, when that next runs, and
// the one that has sent it goes on until then: it waits for the clock to leap.
func stopSelf() {
	strikeSelf(syscall.SIGSTOP)
	for before := time.Now(); time.Since(before) < stopped/8; {
		before = time.Now()
		time.Sleep(time.Millisecond)
	}
}
