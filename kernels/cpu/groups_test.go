package cpu

import (
	"testing"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
)

func onlyGroups(t testing.TB) *kernels.Backend {
	d := host.New()
	t.Cleanup(func() { d.Close() })
	s := &kernels.Set{Name: "generic"}
	genericGroup(s)
	genericJoin(s)
	return &kernels.Backend{Device: d, Set: s}
}

func TestGroups(t *testing.T) { kerneltest.Run(t, onlyGroups(t)) }

func TestGroupsPlanted(t *testing.T) { kerneltest.Planted(t, onlyGroups(t)) }

func BenchmarkGroups(b *testing.B) { kerneltest.Bench(b, onlyGroups(b)) }
