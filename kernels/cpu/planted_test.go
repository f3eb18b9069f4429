//go:build !race

package cpu_test

import (
	"testing"

	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
)

// What is planted is wrong answers, which the race detector is not about.
func TestGenericPlanted(t *testing.T) { kerneltest.Planted(t, generic(t)) }

// TestTiers runs every other tier of this processor. They differ in the loops
// only, each of which has its own test, so few cases of each length do, and fewest
// for those that are not the best; and the race
// detector does not see assembly.
func TestTiers(t *testing.T) {
	sets := cpu.Tiers()
	for i, set := range sets[1:] {
		extent := kerneltest.Tiny
		if i+2 == len(sets) && !testing.Short() {
			extent = kerneltest.Brief
		}
		t.Run(set.Name, func(t *testing.T) {
			kerneltest.Run(t, backend(t, set), kerneltest.Support(support), kerneltest.Size(extent))
		})
	}
}
