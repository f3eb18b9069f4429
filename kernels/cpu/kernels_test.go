package cpu_test

import (
	"testing"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
)

// backend is a tier on a host device of its own.
func backend(t testing.TB, set *kernels.Set) *kernels.Backend {
	d := host.New()
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return &kernels.Backend{Device: d, Set: set}
}

func generic(t testing.TB) *kernels.Backend { return backend(t, cpu.Generic()) }

// support is one list for all tiers: none may take a type less than another.
const support = "testdata/generic/support.txt"

func TestGeneric(t *testing.T) { kerneltest.Run(t, generic(t), kerneltest.Support(support)) }

// Every tier gives the same where the hashes of all keys are equal, or parts of them, and where tables
// begin with four slots. Few rows do: a table looks at all keys of one hash.
func TestSpoiltTables(t *testing.T) {
	for _, trial := range slots.Trials() {
		t.Run(trial.Name, func(t *testing.T) {
			defer trial.Begin()()
			for _, set := range cpu.Tiers() {
				t.Run(set.Name, func(t *testing.T) {
					kerneltest.Run(t, backend(t, set), kerneltest.Size(kerneltest.Tiny), kerneltest.MorselOf(512),
						kerneltest.Only("Concat", "Reduce", "Group", "Aggregate", "GroupBy", "Unique", "IsIn", "JoinBuild"))
				})
			}
		})
	}
}

func BenchmarkTier(b *testing.B) {
	for _, set := range cpu.Tiers() {
		b.Run("tier="+set.Name, func(b *testing.B) { kerneltest.Bench(b, backend(b, set)) })
	}
}
