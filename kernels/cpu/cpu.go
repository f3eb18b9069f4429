package cpu

import (
	"os"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// tiers lists the tiers that this build has, the best first.
var tiers = []func() *kernels.Set{Generic}

// New puts the CPU's kernels on a host device: the best tier that the
// processor runs, or the one that the environment variable VOLLEY_CPU names.
// A name that this build or processor has not got is an ErrUnavailable.
func New(d device.Device) (*kernels.Backend, error) {
	want := os.Getenv("VOLLEY_CPU")
	for _, tier := range tiers {
		if set := tier(); want == "" || want == set.Name {
			return &kernels.Backend{Device: d, Set: set}, nil
		}
	}
	return nil, device.Errorf(device.ErrUnavailable, d.Name(), "open", "VOLLEY_CPU=%s: this build has only the tier generic", want)
}
