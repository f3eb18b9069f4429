// Package ondevice runs collectives on vectors in the memory of any device.
//
// Vectors that the host can read are used where they lie. Others are staged through
// pinned memory of the device, which is kept from call to call, and reductions of types
// that the device's kernels have are computed on the device: every rank gets all ranks'
// operands of its own part of the vector, combines them there, and the parts are
// gathered. What the kernels have not got (16-bit floats, and, or, xor, a user's
// reduction) is the host's; Explain says which.
//
// The device combines ranks in a fixed tree, so its results are the same bits on every
// run and those of a deterministic Comm on the host; a minimum or maximum of -0 and 0 may
// be either. A sum of an n-byte vector crosses the device's link in both directions twice
// and is bound by that or by the transport.
//
// # Order
//
// A Comm has all operations of collective.Comm, those with counts (AllGatherV) and those
// that are started (AllReduceAsync, Group) too. They share a stream, the pinned memory and
// the messages of the collective.Comm, and so are done one after another, in the order of
// the calls, which is the same on all ranks. A Handle is done when the result lies in the
// memory that it is for. The buffers of what was started are kept until then; their
// elements belong to it. When a rank dies, leaves or cancels, the operation that is under
// way and those behind it end on all survivors with one collective.Fault; who canceled gets
// the context's own error beside it, and a rank whose device failed gets that.
//
// # NCCL
//
// After UseNCCL, which every rank calls, NVIDIA's library carries: nothing but the calls'
// agreement passes through the host. It also reduces what it reduces as the host does:
// integers, and floats of Comms that are not deterministic, where the order of a sum is
// the library's and 16-bit floats may be rounded at every step. Sums of floats of
// deterministic Comms, and minima and maxima of floats, which the library would take
// without NaN, are combined by the kernels on parts that it carries.
//
// Before each call the ranks agree by the Comm that it is the same on all, which costs
// the latency of a small AllGather; while the GPU waits for its peers, the host looks for
// the end of the context, for ranks that are missing, and for NCCL's own failures. All of
// them end in the Comm's Fault on every rank, after the communicator was aborted.
package ondevice
