// Package direct is the communicators of NCCL that a collective.Comm has for the GPUs of its
// ranks. One takes seconds to make, so it is made once for the same GPUs, found by the Comm
// from then on, and closed with it. Those above (ondevice and columns) have the ranks meet by
// the Comm before each call, since NCCL compares nothing, and what ends a call is the Comm's Fault.
package direct
