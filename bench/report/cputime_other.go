//go:build !unix

package report

import (
	"fmt"
	"time"
)

// CPUTime returns the processor time that all threads of this process have used
// so far. Where the system does not tell, the error is [ErrNotKnown].
func CPUTime() (time.Duration, error) {
	return 0, fmt.Errorf("report: processor time: %w", ErrNotKnown)
}
