//go:build race

package kerneltest

// raceDetector makes the suite brief where every access costs ten.
const raceDetector = true
