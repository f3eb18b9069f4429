package report

import (
	"fmt"
	"syscall"
)

// PeakRSS returns the peak of this process's resident memory in bytes, since
// the process began or since [ResetPeakRSS]. Linux keeps it as VmHWM in
// /proc/self/status; darwin as ru_maxrss, which cannot be reset. Elsewhere the
// error is [ErrNotKnown].
func PeakRSS() (int64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("report: peak memory: %w", err)
	}
	return u.Maxrss, nil // bytes on darwin, unlike the kilobytes of other systems
}

// ResetPeakRSS sets the peak of resident memory back to what is resident now.
// Darwin has no such call: the error is [ErrNotKnown].
func ResetPeakRSS() error { return ErrNotKnown }
