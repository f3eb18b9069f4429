// Package timeline records what a rank's collective operations spend their time on,
// and puts the records of all ranks on one clock.
//
// A Recorder writes Chrome's trace format, an array of JSON objects, which Perfetto
// and chrome://tracing show: a process is a rank, a thread one of its communicators.
// An operation is a slice; the slices under it are its phases: wait (for another
// rank's message), copy, reduce, and send (a message is handed over, or its memory is
// waited for). The array of a rank that was killed ends without its bracket, which
// the format allows.
//
// Merge reads the files of all ranks and writes one. Clocks of different machines are
// set against each other by the messages themselves: no message arrives before it was
// sent, so those from a to b bound the difference of the two clocks from one side and
// those from b to a from the other (Duda, Harrus, Haddad and Bernard, "Estimating
// global time in distributed systems", ICDCS 1987). The middle of the bounds is taken;
// ranks of one machine share its clock and are left as they are.
package timeline
