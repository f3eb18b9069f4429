// Package shm is the transport between processes of one machine, for Linux. The
// ranks map one segment of shared memory, in which every ordered pair has a lane
// of slots. A short message travels in its slot. Of a long one the slot has the
// address only, and the receiver copies or combines straight from the sender's
// memory (process_vm_readv), so its bytes are copied once. Where the system does
// not permit that, long messages pass through a ring of chunks in the segment, one
// copy in and one out.
//
// A rank that waits looks at the slot for some microseconds, gives way to other
// processes, and sleeps on a futex at last. Every rank watches the others'
// processes, so a crash is seen within a tenth of a second, without heartbeats.
package shm
