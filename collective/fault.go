package collective

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/device"
)

// Cause is the kind of a Fault.
type Cause string

// The causes. Lost: a rank died, stopped or cannot be reached. Left: it closed its
// Comm while others still needed it. Mismatch: ranks made different calls, which the
// messages show, or after some heartbeats their heartbeats, where each waits for others,
// also around a circle of Send, Recv, Sub and operations.
// Corrupt: bytes changed on their way. Timeout: a rank did not arrive within
// Options.Timeout although it is alive. Canceled: a context ended, or a rank's
// own function failed.
const (
	Lost     Cause = "lost"
	Left     Cause = "left"
	Mismatch Cause = "mismatch"
	Corrupt  Cause = "corrupt"
	Timeout  Cause = "timeout"
	Canceled Cause = "canceled"
)

// Fault is why an operation failed: the same on every surviving rank. It is
// device.ErrLost (Lost, Left, Corrupt, Timeout), device.ErrMismatch or
// device.ErrCanceled for errors.Is.
type Fault struct {
	Cause   Cause
	Op      string        // the operation, "" between operations
	Seq     uint64        // its number in the Comm, from 1
	Ranks   []int         // who is to blame: the ranks lost, the ranks whose call differs, the rank that canceled
	Step    int           // rounds of the schedule that the reporter had done
	Elapsed time.Duration // since the reporter entered the operation
	By      int           // the rank that noticed
	Text    string        // what it saw
}

// Error names the operation, the ranks and what was seen.
func (f *Fault) Error() string {
	var b strings.Builder
	b.WriteString("collective: ")
	if f.Op != "" {
		fmt.Fprintf(&b, "%s #%d, step %d, after %s: ", f.Op, f.Seq, f.Step, f.Elapsed.Round(time.Microsecond))
	}
	fmt.Fprintf(&b, "%s %s", rankList(f.Ranks), f.Cause)
	if f.Text != "" {
		b.WriteString(": " + f.Text)
	}
	fmt.Fprintf(&b, " (seen by rank %d)", f.By)
	return b.String()
}

// Unwrap is the kind of the error.
func (f *Fault) Unwrap() error {
	switch f.Cause {
	case Mismatch:
		return device.ErrMismatch
	case Canceled:
		return device.ErrCanceled
	}
	return device.ErrLost
}

func rankList(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	names := make([]string, len(ranks))
	for i, r := range ranks {
		names[i] = fmt.Sprint(r)
	}
	return "ranks " + strings.Join(names, ", ")
}

// wrong is an error about an argument: nothing was sent, the Comm goes on.
func wrong(op algorithm.Op, format string, args ...any) error {
	return device.Errorf(device.ErrMismatch, "", opName(op), format, args...)
}

// errEnded is the error of a Handle whose goroutine was ended by a reduction.
var errEnded = &device.Error{Call: "collective", Kind: device.ErrCanceled, Text: "the reduction ended its goroutine"}

// errClosed is what calls on a closed Comm return.
var errClosed = errors.New("the Comm is closed")
