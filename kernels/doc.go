// Package kernels defines the columnar kernels of volley: for each its
// signature and its contract. Package kernels/reference has a loop in plain Go
// for each, which every backend is held against.
//
// A Set is one backend's kernels, as data. A Backend is a device with its Set;
// its methods, one per kernel, are what everything above calls. They check
// arguments once for every backend: types against the Set's masks, lengths,
// devices, options. An entry of a Set may therefore take its arguments as
// valid. They also turn a panic of an entry into an error.
//
// # Rules that hold for every kernel
//
// Arguments are never changed, unless the contract says so, and may be windows
// of larger columns. Results are new columns with one reference that belongs to
// the caller, also when they share buffers with an argument. Nulls follow Arrow
// compute: a null in gives a null out unless the contract says otherwise, and
// what lies under a null never matters. Empty in gives empty out. Results never
// depend on tier, thread count or device: integers agree bit for bit, floats
// within the bound that the contract states, and the same backend repeats its
// floats bit for bit.
//
// A call returns when the work is enqueued on the stream; on the host device it
// returns when the work is done. Kernels whose result length depends on the
// data (filter, join, group) wait for it. Every kernel looks at its context
// between morsels of about a millisecond and returns ErrCanceled.
package kernels
