//go:build race

package peers

// raceDetector says that the tests run under it.
const raceDetector = true
