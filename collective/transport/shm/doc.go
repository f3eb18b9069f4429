// Package shm is the transport between processes of one machine, for Linux. The
// ranks map one segment of shared memory, in which every ordered pair has a lane
// of slots. A message of up to 1 KiB travels in its slot, one of up to 16 KiB (64 KiB where
// ranks share processors, and 256 KiB where those are few) in the lane's ring, which the sender fills without waiting for
// anybody. Of a longer one the slot has the address only, and the receiver copies or
// combines straight from the sender's memory (process_vm_readv), so its bytes are copied
// once; a sender that waits for that writes the rest into the receiver's memory meanwhile
// (process_vm_writev), where ranks have processors of their own. Of a message that is
// combined it copies a part into chunks of the segment, where that was found to be faster. A message
// of up to 256 KiB goes through the segment as a whole where its reader finds that faster, or, where all ranks
// send to each other at once, rank 0. Memory that is read and written in place again and again is put into huge
// pages. Where the system does not permit reading another process's
// memory, all of a long message passes through the chunks, one copy in and one out.
//
// A rank that waits looks at the slot for some microseconds (not at all where the awaited
// rank is on its processor), gives way to other processes, and sleeps on a futex at last.
// Every rank watches the others' processes, so a crash is seen within a tenth of a second,
// without heartbeats.
package shm
