// Package mpi is the transport over an MPI library, for ranks that mpirun, mpiexec or
// srun started: where the library knows the network (InfiniBand, Slingshot, Omni-Path)
// messages take its way. The library is loaded at run time: one with the standard ABI
// (libmpi_abi), Open MPI 4 and 5, or MPICH and those with its binary interface.
//
// A rank's messages travel in segments of at most 256 KiB, each copied into a buffer
// that belongs to the transport and sent synchronously (MPI_Issend), at most 8 under
// way on a lane. So a payload is free as soon as it was copied, an interrupted call
// leaves nothing that the library still reads or writes, and a receiver that is behind
// bounds its senders. The limit it is designed for is what the library carries, less
// a copy in the processor's cache on either side.
//
// Its ranks count as on one machine (transport.Machines), wherever they are: the library
// goes by machines itself where that helps a message.
//
// No call into the library waits: sends, probes for matching messages and receives are
// begun and tested, first in quick succession, then with growing pauses. All calls are
// made one at a time (MPI_THREAD_SERIALIZED), those of a goroutine that minds
// everything beside the lanes too: notes, meetings, and messages nobody takes any more.
// Only MPI_Init_thread and MPI_Finalize wait, for all ranks of the job, and on a
// goroutine of their own; a context that ends returns from Join and Finalize, not from
// them.
//
// # Faults
//
// A rank that falls silent, or to which the library reports an error, ends in a Fault
// of the Comm like on any transport, and Shrink needs nothing of the library but
// messages between those who are left. MPI itself promises nothing after a failure, and
// three things are out of this package's hands. Launchers end the whole job when a
// process of it dies: Open MPI's lets the others live with mpirun --enable-recovery
// (version 4) or --with-ft ulfm (5); MPICH's (5.0.2) falls with a process that dies,
// also with -disable-auto-cleanup. A library may end the process by itself, or stay in
// a call, when a connection breaks. And MPI need not report a failure: an error that
// it returns is heard at once, silence after the Comm's Deadline.
// So the death of a process is tried under Open MPI alone; everything else that can go
// wrong is under both (package faultinject: every operation by every algorithm, with
// counts, messages between two ranks, groups).
// After a failure Finalize returns with its context, since MPI_Finalize would wait
// for the dead.
package mpi
