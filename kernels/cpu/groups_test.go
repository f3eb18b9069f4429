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
	groupLoops().grouping(s)
	groupLoops().joining(s)
	return &kernels.Backend{Device: d, Set: s}
}

// groupLoops are the loops of onlyGroups.
var groupLoops = goLoops

// eachGroupLoops runs f with the loops of each tier, all of which are called quick
// enough to go over rows for each range of hashes, where the second-level cache is large.
func eachGroupLoops(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer func() { groupLoops = goLoops }()
	names, all := available()
	for i, l := range all {
		t.Run(names[i], func(t *testing.T) {
			l.sieve.quick = true
			groupLoops = func() *loops { return l }
			withCache(t, true, func() { f(t) })
		})
	}
}
