package simulate

import (
	"fmt"
	"math"

	"github.com/volley-go/volley/collective/simulate"
	"github.com/volley-go/volley/collective/tune"
)

// Shape is a network without its size. Ranks fill nodes of PerNode ranks each.
type Shape struct {
	Topology string        // as [Topologies] lists them
	PerNode  int           // ranks of a node
	Down, Up int           // of a fat tree: nodes below a leaf switch, spine switches
	Width    int           // of a dragonfly: nodes on a router
	Rails    int           // of multi-rail
	Stripe   int64         // bytes from which a message takes all rails
	Link     simulate.Wire // every link; those between a dragonfly's groups have thrice the latency
	Figures  *tune.Figures // of a node: those measured on this machine; nil takes figures of a usual one
}

// Topologies lists the networks.
func Topologies() []string { return []string{"node", "fat-tree", "dragonfly", "multi-rail"} }

// DefaultShape is a cluster of nodes of eight ranks with links of 200 Gb/s.
func DefaultShape(topology string) Shape {
	return Shape{Topology: topology, PerNode: 8, Down: 32, Up: 16, Width: 8, Rails: 4, Stripe: 64 << 10, Link: simulate.Wire{GBs: 25, Latency: 0.5e-6}}
}

// Usual costs: of memory that processes of a machine share, and of a network card
// that copies by itself. A byte is summed at 12 GB/s.
var (
	fold   = simulate.Rate{One: simulate.Flat(1 / 12e9)}
	inside = simulate.Costs{Send: 0.2e-6, Recv: 0.2e-6, Latency: 0.2e-6, RecvByte: simulate.Rate{One: simulate.Flat(1 / 8e9)}, Fold: fold, Eager: 4032}
	across = simulate.Costs{Send: 0.5e-6, Recv: 0.5e-6, Latency: 0.3e-6, Fold: fold, Eager: 16 << 10}
)

// Network is the network for a number of ranks.
func (s Shape) Network(ranks int) (*simulate.Network, error) {
	if s.Topology == "node" && s.Figures != nil {
		return s.Figures.Node(ranks), nil
	}
	if s.PerNode < 1 || !(s.Link.GBs > 0) || s.Link.Latency < 0 || math.IsInf(s.Link.GBs, 0) {
		return nil, fmt.Errorf("a network of nodes of %d ranks with links of %v GB/s and %v s", s.PerNode, s.Link.GBs, s.Link.Latency)
	}
	nodes := (ranks + s.PerNode - 1) / s.PerNode
	var n *simulate.Network
	var err error
	switch s.Topology {
	case "node":
		n = simulate.Node("node", ranks, 0, inside)
	case "fat-tree":
		n, err = simulate.FatTree(nodes, s.PerNode, s.Down, s.Up, s.Link, s.Link)
	case "dragonfly":
		global := s.Link
		global.Latency *= 3
		n, err = simulate.Dragonfly(nodes, s.PerNode, s.Width, s.Link, s.Link, global)
	case "multi-rail":
		n, err = simulate.Rails(nodes, s.PerNode, s.Rails, s.Stripe, s.Link)
	default:
		err = fmt.Errorf("no topology %q; there are %v", s.Topology, Topologies())
	}
	if err != nil {
		return nil, err
	}
	n.Inside, n.Across, n.Fold = inside, across, fold
	n.Copy = simulate.Rate{One: simulate.Flat(1 / 12e9)}
	n.Call = 0.2e-6
	return n, nil
}
