package report

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// PeakRSS returns the peak of this process's resident memory in bytes, since
// the process began or since [ResetPeakRSS]. Linux keeps it as VmHWM in
// /proc/self/status; darwin as ru_maxrss, which cannot be reset. Elsewhere the
// error is [ErrNotKnown].
func PeakRSS() (int64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("report: peak memory: %w", err)
	}
	return statusBytes(b, "VmHWM")
}

// ResetPeakRSS sets the peak of resident memory back to what is resident now,
// after returning freed memory to the operating system, so that a later
// [PeakRSS] speaks of what ran in between. It works on Linux, by writing 5 to
// /proc/self/clear_refs; elsewhere the error is [ErrNotKnown].
func ResetPeakRSS() error {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return fmt.Errorf("report: resetting peak memory: %w", err)
	}
	return nil
}

// statusBytes finds a line such as "VmHWM:   123 kB" and returns it in bytes.
func statusBytes(status []byte, key string) (int64, error) {
	for s := bufio.NewScanner(bytes.NewReader(status)); s.Scan(); {
		name, value, ok := strings.Cut(s.Text(), ":")
		if !ok || name != key {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("report: %s in /proc: %w", key, err)
		}
		return kb << 10, nil
	}
	return 0, fmt.Errorf("report: /proc has no %s: %w", key, ErrNotKnown)
}
