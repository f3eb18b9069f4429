// Package host is the device "cpu": the processor that the program runs on,
// behind the same interfaces as a GPU. Its streams run their work in order on
// a goroutine of their own, beside the caller; its modules are Go functions.
//
// Streams never block a caller: their queues grow as long as work is given
// faster than it is done. A stream with nothing to do has no goroutine, so
// that one which is forgotten costs a few hundred bytes, and asking it whether
// it is idle (Wait) costs a few nanoseconds.
package host
