//go:build !purego

package collective

// ticksAre says that there is a counter.
const ticksAre = true

// ticks is the processor's time stamp counter, of the same rate on all processors and
// at all loads where the system uses it as its clock.
func ticks() uint64
