// Package processors says over how many goroutines loops are spread.
package processors

import (
	"runtime"
	"sync/atomic"
)

// apart is how many of the GOMAXPROCS are left to others.
var apart atomic.Int64

// Count is how many goroutines a parallel loop runs in now: GOMAXPROCS, less those that
// LeaveOne has added. The program may change it at any time.
func Count() int { return max(1, runtime.GOMAXPROCS(0)-int(apart.Load())) }

// LeaveOne adds one to GOMAXPROCS that Count does not count, and is called once, by the C
// library as it is loaded. A thread of another language that calls in must have one of
// the runtime's processors, for each call. Where loops have them all it waits until one
// of them blocks, or for the ten milliseconds after which the scheduler takes one away;
// its next call may wait again.
func LeaveOne() {
	apart.Add(1)
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
}
