package simulate

import "fmt"

// Dragonfly is a network of groups of routers: a router has width nodes and width
// links to other groups, a group has twice width routers, each linked to each, and
// every two groups are linked once. Messages take the shortest way: at most a link
// inside the group, one between groups, and one inside the other. Source: Kim, Dally,
// Scott and Abts, "Technology-driven, highly-scalable dragonfly topology", 2008.
func Dragonfly(nodes, perNode, width int, edge, local, global Wire) (*Network, error) {
	if nodes < 1 || perNode < 1 || width < 1 {
		return nil, fmt.Errorf("a dragonfly of %d nodes, %d on a router", nodes, width)
	}
	routers := 2 * width // of a group
	size := routers * width
	groups := (nodes + size - 1) / size
	if groups > routers*width+1 {
		return nil, fmt.Errorf("a dragonfly with %d nodes on a router has at most %d nodes, not %d", width, size*(routers*width+1), nodes)
	}
	n := &Network{Name: "dragonfly", Nodes: nodes, PerNode: perNode, rails: 1}
	out, in := n.add("node-router", edge, nodes), n.add("router-node", edge, nodes)
	inside := n.add("in-group", local, groups*routers*routers)
	between := n.add("global", global, groups*groups)
	// The router of group a whose link leads to group b: each has as many as the next.
	gate := func(a, b int) int {
		if b > a {
			b--
		}
		return b % routers
	}
	hop := func(path []int32, group, a, b int) []int32 {
		if a == b {
			return path
		}
		return append(path, inside+int32((group*routers+a)*routers+b))
	}
	n.route = func(path []int32, from, to, _ int) []int32 {
		path = append(path, out+int32(from))
		a, b := from/size, to/size
		ra, rb := from%size/width, to%size/width
		if a == b {
			path = hop(path, a, ra, rb)
		} else {
			path = hop(path, a, ra, gate(a, b))
			path = append(path, between+int32(a*groups+b))
			path = hop(path, b, gate(b, a), rb)
		}
		return append(path, in+int32(to))
	}
	return n, nil
}
