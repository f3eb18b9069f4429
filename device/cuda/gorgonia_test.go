//go:build gorgonia_cu

package cuda

import (
	"strings"
	"testing"
)

// TestGorgoniaIsInUse looks that the other tests with a loaded driver go
// through gorgonia.org/cu.
func TestGorgoniaIsInUse(t *testing.T) {
	l, err := load(collect(nil).library)
	must(t, err)
	if !strings.HasPrefix(l.driver.library, "gorgonia.org/cu over ") {
		t.Errorf("the driver is %s", l.driver.library)
	}
}
