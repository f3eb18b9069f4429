//go:build race

package cpu

// raceDetector says that the tests run under it.
const raceDetector = true
