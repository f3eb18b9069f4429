//go:build !race

package backends

const raceDetector = false
