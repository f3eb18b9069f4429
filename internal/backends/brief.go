package backends

import (
	"os"
	"slices"
	"testing"
)

// Brief reports whether few cases are asked for: by -short, or as kernels get few of
// them (see kerneltest.Extent).
func Brief() bool {
	return testing.Short() || slices.Contains([]string{"least", "tiny", "brief"}, os.Getenv("VOLLEY_KERNELTEST"))
}
