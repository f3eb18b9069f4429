// Package backends opens backends for tests, so that what is built on kernels
// is tested on every kind of device by the tests that it has.
//
// A package's tests get their backend from Open. It is the CPU's, unless
// VOLLEY_BACKEND names another: remote, a pretended device whose memory the host
// cannot address; opencl or opencl:1; cuda or cuda:1. Again runs all tests of a
// package another time with another backend:
//
//	func TestOnRemote(t *testing.T) { backends.Again(t, "remote") }
package backends
