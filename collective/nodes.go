package collective

import (
	"fmt"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
)

// nodesOf are the machines of an endpoint's ranks; nil where all are on one, so that
// nothing there is done or weighed in another way than where nobody knows.
func nodesOf(ends transport.Endpoint) (*algorithm.Machines, error) {
	known, ok := ends.(transport.Machines)
	if !ok {
		return nil, nil
	}
	of := known.Machines()
	if of == nil {
		return nil, nil
	}
	if len(of) != ends.Size() {
		return nil, device.Errorf(device.ErrMismatch, "", "collective.New", "the endpoint knows the machines of %d ranks, there are %d", len(of), ends.Size())
	}
	if m := algorithm.NewMachines(of); m.Len() > 1 {
		return m, nil
	}
	return nil, nil
}

// describeNodes is Explain's line on the ranks' machines.
func (c *Comm) describeNodes() string {
	return fmt.Sprintf("the ranks are on %d machines, at most %d on one", c.nodes.Len(), c.nodes.Most())
}
