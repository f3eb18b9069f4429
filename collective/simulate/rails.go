package simulate

import "fmt"

// Rails is a network of nodes with several links, each into a switch of its own that
// never blocks. A message of stripe bytes or more takes all rails at once; a shorter
// one the rail of its sender's place on the node.
func Rails(nodes, perNode, rails int, stripe int64, edge Wire) (*Network, error) {
	if nodes < 1 || perNode < 1 || rails < 1 || stripe < 1 {
		return nil, fmt.Errorf("%d nodes with %d rails, striped from %d bytes on", nodes, rails, stripe)
	}
	n := &Network{Name: "multi-rail", Nodes: nodes, PerNode: perNode, rails: rails, stripe: stripe}
	out, in := n.add("node-rail", edge, nodes*rails), n.add("rail-node", edge, nodes*rails)
	n.route = func(path []int32, from, to, rail int) []int32 {
		return append(path, out+int32(from*rails+rail), in+int32(to*rails+rail))
	}
	return n, nil
}
