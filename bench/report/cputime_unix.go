//go:build unix

package report

import (
	"fmt"
	"syscall"
	"time"
)

// CPUTime returns the processor time that all threads of this process have used
// so far. Where the system does not tell, the error is [ErrNotKnown].
func CPUTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("report: processor time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
