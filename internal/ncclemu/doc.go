// Package ncclemu is an emulated NCCL for tests: a libnccl.so.2 whose ranks are the
// devices of one process, on the emulated CUDA driver of internal/cuemu. Only tests use
// it; it needs g++ on Linux.
//
// It does what programs must be ready for: communicators are nonblocking and come into
// being when all ranks have joined, the first operation is in progress until all ranks
// have begun theirs, operations run in the order of their stream and wait there for the
// other ranks for ever, ranks in different calls never meet, two ranks of one device
// are refused, an abort frees its own rank only. Minima and maxima drop NaN, and sums
// of 16-bit floats are rounded at every step, as NCCL's may be.
package ncclemu
