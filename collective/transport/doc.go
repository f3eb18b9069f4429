// Package transport is what a communicator needs of the thing that carries its
// messages: an Endpoint for each rank, with one ordered lane of messages to and
// from every other rank, and notes beside them for faults and heartbeats. The
// packages below it are the transports: inproc (ranks are goroutines), shm
// (processes on one machine), tcp, mpi (over an MPI library).
//
// A lane carries messages in order and never loses one silently: what cannot be
// delivered ends in an error on both sides. Post only hands a message over; it may
// travel while the same rank receives, which is what makes an exchange between two
// ranks free of deadlock.
package transport
