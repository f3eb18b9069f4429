package cpu

import (
	"testing"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
)

// onlyGroups is a backend of the kernels that group and join.
func onlyGroups(t testing.TB) *kernels.Backend {
	d := host.New()
	t.Cleanup(func() { d.Close() })
	s := &kernels.Set{Name: "generic"}
	goLoops().grouping(s)
	goLoops().joining(s)
	return &kernels.Backend{Device: d, Set: s}
}
