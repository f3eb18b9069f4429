//go:build !amd64 || purego

package collective

// ticksAre says that there is a counter.
const ticksAre = false

func ticks() uint64 { return 0 }
