package simulate

import "fmt"

// FatTree is a tree of two levels of switches: down nodes hang on each leaf switch,
// which has one link to each of up spine switches. Where up is smaller than down the
// spines are oversubscribed. A message takes the spine that its destination's number
// names, so messages to different nodes of a leaf do not meet (D-mod-k). Source:
// Leiserson, "Fat-trees: universal networks for hardware-efficient supercomputing",
// 1985; Zahavi, "D-Mod-K routing providing non-blocking traffic for shift
// permutations on real life fat trees", 2010.
func FatTree(nodes, perNode, down, up int, edge, core Wire) (*Network, error) {
	if nodes < 1 || perNode < 1 || down < 1 || up < 1 {
		return nil, fmt.Errorf("a fat tree of %d nodes, %d below a leaf, %d spines", nodes, down, up)
	}
	n := &Network{Name: "fat-tree", Nodes: nodes, PerNode: perNode, rails: 1}
	leaves := (nodes + down - 1) / down
	out, in := n.add("node-leaf", edge, nodes), n.add("leaf-node", edge, nodes)
	var rise, fall int32
	if leaves > 1 {
		rise, fall = n.add("leaf-spine", core, leaves*up), n.add("spine-leaf", core, leaves*up)
	}
	n.route = func(path []int32, from, to, _ int) []int32 {
		path = append(path, out+int32(from))
		if a, b := from/down, to/down; a != b {
			spine := to % up
			path = append(path, rise+int32(a*up+spine), fall+int32(b*up+spine))
		}
		return append(path, in+int32(to))
	}
	return n, nil
}
