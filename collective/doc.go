// Package collective joins ranks, each a goroutine or process with its own part of
// the data, in operations that all of them call: Broadcast, Reduce, AllReduce,
// ReduceScatter, AllGather, Gather, Scatter, AllToAll, Barrier, and Send and Recv
// between two. Names and meaning are NCCL's.
//
// Vectors are in host memory; package ondevice has those of GPUs, which NCCL may carry,
// package columns the columns of tables.
//
// Init makes the Comm of the ranks that a launcher started, New one of endpoints that
// the program opened itself.
//
// # Calls
//
// All ranks of a Comm make the same calls in the same order, with the same
// operation, type, lengths and root. Every message says which call it belongs to,
// so ranks that are in different calls get an error that says so, not a hang and
// not each other's bytes. Blocking calls take a context; the forms that end in
// Async return a Handle. Operations of one Comm run one after another in the order
// of their calls. A Comm's methods may be called from any goroutine.
//
// # Results
//
// Integers wrap; min and max of floats pass NaN on. float16 and bfloat16 are summed
// in float32 and rounded once. Results of floating-point reductions are the same
// on all ranks; with Options.Deterministic they are also the same, bit for bit, for
// every algorithm, chunking and transport: operands are combined in the canonical
// tree of package algorithm.
//
// # Faults
//
// A rank that dies, stops, leaves or makes another call ends the operation on all
// survivors with one and the same *Fault, which names it. So does a context that
// ends on any rank. Ranks whose calls wait for each other in a circle, such as a Recv and
// an AllReduce, have it after some heartbeats. The Comm is then closed for work; Shrink
// makes a new one of the survivors, who agree on who they are, and Grow admits others to
// it. A rank that was stopped until the others judged it lost has the Fault that names
// itself when it goes on, and no new Comm.
//
// # Seeing it
//
// VOLLEY_STALL_REPORT=1 in the environment has operations that wait long say for whom.
// Options.Timeline, or VOLLEY_TIMELINE in the environment, records what operations
// spend their time on; "volley timeline" merges the ranks' files. Stats and Totals are
// counts, which package metrics publishes.
package collective
