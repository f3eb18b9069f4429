package collective

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/volley-go/volley/device"
)

// stallVariable has Comms without an OnStall print stalls: 1, or after how long, as 10s; 0 has none printed.
const stallVariable = "VOLLEY_STALL_REPORT"

// stallsTo is where they are printed, a line each.
var stallsTo = struct {
	sync.Mutex
	io.Writer
}{Writer: os.Stderr}

// reportStalls has a Comm of that name print its stalls, if the environment says so and the
// program has no other use for them.
func (o *Options) reportStalls(name string, rank, size int) error {
	text := os.Getenv(stallVariable)
	if text == "" || text == "0" || o.OnStall != nil && !o.printsStalls {
		return nil
	}
	if text != "1" {
		after, err := time.ParseDuration(text)
		if err != nil || after <= 0 {
			return device.Errorf(device.ErrMismatch, "", "collective.New", "%s is %q: neither 0, 1 nor a time such as 10s", stallVariable, text)
		}
		o.Stall = after
	}
	o.printsStalls = true
	o.OnStall = printStalls(name, rank, size)
	return nil
}

// printStalls is the OnStall that prints.
func printStalls(name string, rank, size int) func(Stall) {
	return func(s Stall) {
		stallsTo.Lock()
		defer stallsTo.Unlock()
		// A report that cannot be written is lost: the operation goes on.
		_, _ = fmt.Fprintf(stallsTo.Writer, "volley: rank %d of %d (%s): %s\n", rank, size, name, s)
	}
}

// String says who waits for whom.
func (s Stall) String() string {
	if s.Seq == 0 { // of a meeting
		text := fmt.Sprintf("%s has waited %v for ranks to come", s.Op, s.Elapsed.Round(time.Millisecond))
		if len(s.Absent) > 0 {
			return text + "; not yet arrived: " + strings.Trim(fmt.Sprint(s.Absent), "[]")
		}
		return text + fmt.Sprintf(", such as rank %d", s.Waiting)
	}
	text := fmt.Sprintf("%s, operation %d, has waited %v in round %d for rank %d", s.Op, s.Seq, s.Elapsed.Round(time.Millisecond), s.Step, s.Waiting)
	if len(s.Absent) > 0 {
		text += "; not yet arrived: " + strings.Trim(fmt.Sprint(s.Absent), "[]")
	}
	return text
}
