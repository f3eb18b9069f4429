//go:build race

package backends

// raceDetector is true in programs built with the race detector, which makes
// them ten times slower.
const raceDetector = true
