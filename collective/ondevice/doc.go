// Package ondevice runs collectives on vectors in the memory of any device.
//
// Vectors that the host can read are used where they lie. Others are staged through
// pinned memory of the device, which is kept from call to call, and sums and products
// of types that the device's kernels have are computed on the device: every rank gets
// all ranks' operands of its own part of the vector, combines them there, and the parts
// are gathered. Other reductions of staged vectors are the host's; Explain says which.
//
// The device combines ranks in a fixed tree, so its results are the same bits on every
// run. A sum of an n-byte vector crosses the device's link in both directions twice and
// is bound by that or by the transport.
package ondevice
