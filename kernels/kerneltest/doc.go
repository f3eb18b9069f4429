// Package kerneltest holds a backend's kernels against the reference loops.
//
// Run checks every kernel over types, lengths, null patterns and slice
// offsets: results equal the reference's, arguments are untouched, nothing
// leaks, every failing allocation and every cancelled context comes back as an
// error, results repeat for any number of threads. Golden holds what the
// backend supports against a file and against what was run. Planted puts errors
// into a backend on purpose and fails when Run would not have seen them. Bench
// measures.
//
// A backend's whole test is therefore
//
//	func TestKernels(t *testing.T) {
//		b := …
//		kerneltest.Run(t, b, kerneltest.Support("testdata/support.txt"))
//		kerneltest.Planted(t, b)
//	}
//	func BenchmarkKernels(b *testing.B) { kerneltest.Bench(b, …) }
//
// A kernel is added by a file of its name with a func(*Suite) and a line in
// families (run.go). Such a function walks s.Cases, makes arguments with
// s.Column, and calls s.Check with the call to make, which is run on both
// backends; s.Faults runs the same call under failing allocations and
// contexts.
//
// A backend may be on a device whose memory the host cannot address. Arguments
// are then made on the host, moved there by Env.On, and looked at again after
// the call; results come back to be compared. A kernel gets a stream whose
// Device is the suite's: it allocates from that device's Memory, which is counted
// and fails on demand, while modules are loaded on the device inside and launched
// on the stream as they are. Blocks are full of garbage and have a fence behind
// them. Types that an entry's mask leaves out are not tried; refusing them is no
// failure.
//
// The environment variable VOLLEY_SEED gives another seed than the fixed one;
// each failure prints the seed it was found with. VOLLEY_KERNELTEST (least,
// tiny, brief, full) says how much to run: see Extent.
package kerneltest
