package simulate

import "fmt"

// Network is the machine that ranks run on: nodes with processors, and links between
// them. Ranks are placed node by node: rank r is on node r / PerNode.
type Network struct {
	Name    string  `json:"name"`
	Nodes   int     `json:"nodes"`
	PerNode int     `json:"per_node"` // ranks of a node
	Cores   int     `json:"cores"`    // processors that the ranks of a node share; 0: one each
	Call    float64 `json:"call"`     // seconds that a call costs a rank before its first message
	// What follows is in seconds, where ranks are more than processors (processors.go). Leave
	// and LeaveNear are from when a rank finds that it must wait for one of another processor,
	// or of its own, until another rank has its processor.
	Leave     float64 `json:"leave"`
	LeaveNear float64 `json:"leave_near"`
	// Wake and WakeNear are until a rank that slept goes on, woken by one of another processor
	// or of its own. Rouse is by how much a sender takes longer whose receiver sleeps on another.
	Wake     float64 `json:"wake"`
	WakeNear float64 `json:"wake_near"`
	Rouse    float64 `json:"rouse"`
	// Looks says that a rank looks for what it waits for until it leaves, and then goes on at
	// once; else it sleeps.
	Looks bool `json:"looks"`

	Copy   Rate  `json:"copy"`   // a byte copied within a rank
	Caches Rate  `json:"caches"` // the same in pieces so short that only the caches matter which the vectors are in
	Fold   Rate  `json:"fold"`   // a byte combined within a rank
	Inside Costs `json:"inside"` // of a message between ranks of a node
	Across Costs `json:"across"` // of a message between nodes
	// Near, if it is not nil, is what takes the place of Inside between ranks of one processor.
	Near *Costs `json:"near,omitempty"`

	rails  int   // links out of a node, 0 where there are no links
	stripe int64 // bytes from which a message takes all rails at once
	links  []link
	kinds  []string
	// route appends the links from one node to another by a rail, first the one out of
	// the node.
	route func(path []int32, from, to, rail int) []int32
}

// link carries one message at a time.
type link struct {
	kind          uint8
	byte, latency float64
}

// Wire is a kind of links.
type Wire struct {
	GBs     float64 // 1e9 bytes a second, each way
	Latency float64 // seconds, with that of the switch behind it
}

// add makes n links of a kind and returns the number of the first.
func (n *Network) add(kind string, w Wire, count int) int32 {
	first := int32(len(n.links))
	k := uint8(len(n.kinds))
	n.kinds = append(n.kinds, kind)
	for range count {
		n.links = append(n.links, link{k, 1 / (w.GBs * 1e9), w.Latency})
	}
	return first
}

// past says that a copy of so many bytes within a rank goes past the caches, since it takes a quarter longer than in pieces.
func (n *Network) past(bytes float64) bool {
	return n.Copy.OneOf > 0 && n.Copy.One.At(bytes) > 1.25*n.Caches.One.At(n.Copy.OneOf*bytes)
}

// check finds what is wrong with the figures that a caller gave.
func (n *Network) check(ranks int) error {
	switch {
	case n.Nodes < 1 || n.PerNode < 1 || n.Cores < 0:
		return fmt.Errorf("%s: %d nodes of %d ranks on %d processors", n.Name, n.Nodes, n.PerNode, n.Cores)
	case ranks > n.Nodes*n.PerNode:
		return fmt.Errorf("%s: %d ranks on %d nodes of %d", n.Name, ranks, n.Nodes, n.PerNode)
	case n.Nodes > 1 && n.route == nil:
		return fmt.Errorf("%s: %d nodes and no links between them", n.Name, n.Nodes)
	}
	return nil
}

// Node is one machine with shared memory.
func Node(name string, ranks, cores int, inside Costs) *Network {
	return &Network{Name: name, Nodes: 1, PerNode: ranks, Cores: cores, Inside: inside}
}
