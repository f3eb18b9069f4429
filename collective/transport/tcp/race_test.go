//go:build race

package tcp

// raced says that the race detector is at work, which makes all several times slower.
const raced = true
