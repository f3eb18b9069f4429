// Package collective times collective operations between processes of this machine,
// ours beside Open MPI's, MPICH's and Gloo's, in nccl-tests' terms.
//
// Each engine, transport and number of ranks is a world: processes that stay, are
// pinned alike (rank r to processor r modulo their number), wait for commands at a
// socket without using a processor, and time an operation over and over without a
// barrier in between, as nccl-tests do. A time is that of the slowest rank. The
// worlds take turns, in an order that moves on by one each round. Before and after
// the rounds every world runs each operation once over fresh contents and counts the
// elements that are wrong.
//
// Sizes are nccl-tests' too: the whole vector of AllReduce, Broadcast and Reduce,
// all blocks together of the others. algbw is the size over the time, busbw algbw
// by the factor that makes it comparable to what a link carries.
package collective
