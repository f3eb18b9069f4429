// Package processors says over how many goroutines loops are spread.
package processors

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
)

// Variable of the environment says over how many threads at the most loops are spread.
const Variable = "VOLLEY_THREADS"

// apart is how many of the GOMAXPROCS are left to others.
var apart atomic.Int64

// most is what the environment allows, 0 where it says nothing; refused is what is wrong with that.
var most, refused = limited(os.Getenv(Variable))

func limited(text string) (n int, err error) {
	if text == "" {
		return 0, nil
	}
	n, err = strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s is %q, not a number of threads from 1 on", Variable, text)
	}
	return n, nil
}

// Err is what is wrong with the environment's limit, or nil.
func Err() error { return refused }

// Count is how many goroutines a parallel loop runs in now: GOMAXPROCS, less those that
// LeaveOne has added, and at the most what VOLLEY_THREADS says, or else Limit. The program may change GOMAXPROCS at any time.
func Count() int {
	if most > 0 {
		return Own()
	}
	return within(Own(), int(limits.least.Load()))
}

func within(n, most int) int {
	if most > 0 {
		n = min(n, most)
	}
	return max(1, n)
}

// LeaveOne adds one to GOMAXPROCS that Count does not count, and is called once, by the C
// library as it is loaded; before that it lowers GOMAXPROCS to what VOLLEY_THREADS says. A thread of another language that calls in must have one of
// the runtime's processors, for each call. Where loops have them all it waits until one
// of them blocks, or for the ten milliseconds after which the scheduler takes one away;
// its next call may wait again.
func LeaveOne() {
	runtime.GOMAXPROCS(Count() + 1)
	apart.Add(1)
}
