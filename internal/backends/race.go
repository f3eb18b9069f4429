//go:build race

package backends

// RaceDetector is true in programs built with the race detector, which makes
// them ten times slower.
const RaceDetector = true
