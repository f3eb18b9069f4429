package backends

import (
	"os"
	"slices"
	"testing"
)

// Brief reports whether tests are to run few cases: -short is set, or VOLLEY_KERNELTEST is
// least, tiny or brief (see kerneltest.Extent).
func Brief() bool {
	return testing.Short() || slices.Contains([]string{"least", "tiny", "brief"}, os.Getenv("VOLLEY_KERNELTEST"))
}
