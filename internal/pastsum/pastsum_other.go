//go:build !amd64 || purego

package pastsum

const has = false

var (
	uint32Loops  loops[uint32]
	uint64Loops  loops[uint64]
	float32Loops loops[float32]
	float64Loops loops[float64]
)
