// Package faultinject makes endpoints fail on purpose, for tests of programs that
// must live with it: a rank is killed or frozen at its n-th message, messages are
// dropped, delayed, doubled or corrupted, ranks are parted from each other.
//
//	ends, in := faultinject.Wrap(inproc.New(4), faultinject.Event{Rank: 1, N: 2, Kind: faultinject.Kill})
//	defer in.Thaw()
//	c, err := collective.New(ends[rank], options) // on every rank
//
// Without an event that is due an endpoint does what the one under it does, but that reductions without
// messages are left to [WrapMerging].
//
// The package's own tests are the matrix that the library is held to. Over ranks of one process, TCP, shared memory and both, or two of these for columns and devices,
// every kind of fault befalls an early and a later message of: every operation by every algorithm; the forms with counts, with empty
// blocks; Send, Recv and Exchange; groups, and operations under way together; columns of tables with texts, lists and
// nulls (package columns); vectors in the memory of a device (package ondevice); messages that are long enough for every
// way that a transport has for them. Reductions without messages meet every fault that they can, with vectors of up to
// 16 MiB. Each time nobody hangs, and either all results are right or all survivors have one and the same Fault; no
// vector is read or written after its call has returned, and no memory stays out.
package faultinject
