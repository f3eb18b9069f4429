package collective

import (
	"math"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// start is before all operations: time.Since of it reads the one clock that cannot
// be set.
var start = time.Now()

// A call of the system's clock is a tenth of a short operation and there are two in
// each, so operations are timed by the processor's counter where the system itself
// makes its clock of it. Every second a watch compares the two.
var rates atomic.Pointer[rate]

// rate is the counter's: it had ticks at since, and a tick takes nanos.
type rate struct {
	ticks uint64
	since time.Duration // after start
	nanos float64
}

var (
	firstTicks     = ticks()
	firstSince     = time.Since(start)
	counterIsClock = func() *atomic.Bool {
		b := new(atomic.Bool)
		b.Store(ticksAre && clockSource() == "tsc")
		return b
	}()
)

func clockSource() string {
	text, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// sinceStart is the time after start.
func sinceStart() time.Duration {
	r := rates.Load()
	if r == nil {
		return time.Since(start)
	}
	return r.at(ticks())
}

func (r *rate) at(ticks uint64) time.Duration {
	return r.since + time.Duration(float64(int64(ticks-r.ticks))*r.nanos)
}

// compareClocks finds the counter's rate anew. Two readings of the clock around one of
// the counter say how near in time they were; where that was far, the next call does it.
func compareClocks() {
	if !counterIsClock.Load() {
		return
	}
	before := time.Since(start)
	now := ticks()
	after := time.Since(start)
	if after-before > 20*time.Microsecond || before-firstSince < 500*time.Millisecond || now <= firstTicks {
		return
	}
	next := &rate{ticks: now, since: before + (after-before)/2}
	next.nanos = float64(next.since-firstSince) / float64(now-firstTicks)
	if old := rates.Load(); old != nil && math.Abs(next.nanos/old.nanos-1) > 0.01 {
		next = nil // it is no clock here
		counterIsClock.Store(false)
	}
	rates.Store(next)
}
