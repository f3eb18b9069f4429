// Package devicetest holds every device to the contracts of package device:
// Run is the suite that a driver's test file calls, and Fake is a device that
// fails on request, for tests of what stands above.
package devicetest
