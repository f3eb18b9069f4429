// Package nccl runs collectives of NVIDIA's GPUs through NCCL, on vectors in the GPUs'
// own memory and in the order of a stream: no byte of theirs passes through the host.
// The library is loaded at run time; one from 2.14 on serves, every function beyond
// what that has is asked for by name.
//
// It is no transport.Endpoint: NCCL has no messages between hosts and no lanes, and a
// GPU's kernels wait for their peers by themselves. Package collective/ondevice holds
// the two together: the ranks of a Comm meet by that, agree on every call by it, and
// its Faults are what end a call here.
//
// # Nothing hangs
//
// All communicators are of NCCL's nonblocking kind: a call that is not done returns
// "in progress", and its state is asked for until the context ends. A communicator
// whose context ended, or that failed, is aborted: its kernels end, and calls on it are
// errors from then on. What the library itself may do for ever (ncclCommAbort waits for
// threads of its own) is done on a goroutine that the caller leaves behind.
//
// # Results
//
// They are NCCL's, which differ from package collective's in two ways: sums and
// products of 16-bit floats may be rounded to 16 bits at every step, and a minimum or
// maximum need not pass NaN on. The order of a sum of floats is NCCL's choice, which
// may change with the length and with the number of ranks.
package nccl
