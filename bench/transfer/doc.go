// Package transfer is the suite of copies: inside a device's memory, which gives
// the limit that other suites hold their operations against, and between the
// device and pageable and pinned memory of the host, both ways.
package transfer
