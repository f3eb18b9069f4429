// Package inproc is the transport between goroutines of one process: one rank a
// device, and every rank of a test. A message is never copied on its way: the
// receiver copies or combines straight from the sender's memory, so a lane moves
// bytes at the speed of memory and a short message costs a few atomic operations. Of a
// long one a rank that waits for something takes parts too: one processor does not reach
// the bandwidth that several have together. An all-reduce but the shortest is no messages: each rank combines
// a block of all ranks' vectors where they are.
package inproc
