//go:build !race

package cpu_test

import (
	"testing"

	"github.com/volley-go/volley/kernels/kerneltest"
)

// What is planted is wrong answers, which the race detector is not about.
func TestGenericPlanted(t *testing.T) { kerneltest.Planted(t, generic(t)) }
